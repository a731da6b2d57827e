/** What is done with a key that never leaves: by which rule, on which bytes, and after whose approval. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { fingerprintOf } from '../src/domain/uses/approval-requests.ts';
import { type IdentifiedKeyUses, type KeyCall, keyUsesWith } from '../src/domain/uses/key-uses.ts';
import { BareUses, newId, rowOf } from './bare-uses.ts';

const ruleOf = (said: object = {}) => ({
  id: newId(),
  name: 'rule',
  revision: 1,
  approval: 'never',
  rate_limit: null,
  operations: ['sign', 'verify', 'decrypt'],
  algorithms: ['ES256', 'RSA-OAEP-256'],
  jwt: null,
  ...said,
});
const base64url = (bytes: string | Uint8Array) => Buffer.from(bytes as string).toString('base64url');
const hello = base64url('hello');
const sign = (said: object = {}): KeyCall =>
  ({ operation: 'sign', call: { key: 'KEY', alg: 'ES256', message: hello, ...said } }) as KeyCall;
const verify = (said: object = {}): KeyCall =>
  ({
    operation: 'verify',
    call: { key: 'KEY', alg: 'ES256', message: hello, signature: 'c2ln', ...said },
  }) as KeyCall;
const decrypt = (said: object = {}): KeyCall =>
  ({
    operation: 'decrypt',
    call: { key: 'KEY', alg: 'RSA-OAEP-256', ciphertext: hello, ...said },
  }) as KeyCall;

describe('an operation with a key', () => {
  let world: BareUses;
  let uses: IdentifiedKeyUses;
  let sealed: string[];
  let id: string;
  beforeEach(() => {
    world = new BareUses();
    id = newId();
    world.rows = [keyOf('private')];
    world.rules = [ruleOf()];
    sealed = [];
    const { visibility, ...parts } = world.parts;
    const sealer = {
      seal: (_: unknown, text: Buffer) => {
        sealed.push(text.toString());
        return Buffer.alloc(0);
      },
    };
    const openVault = async () => ({ row: {}, sealer });
    uses = keyUsesWith({ ...parts, visibility: { ...visibility, openVault } } as never);
  });

  const keyOf = (holds: string) =>
    rowOf({
      id,
      name: 'KEY',
      type: 'key',
      value: 'PRIVATE',
      attributes: JSON.stringify({ holds, public_pem: 'PUBLIC' }),
    });
  const asking = (asked: KeyCall | Failure) =>
    uses.use({ ...world.request(new Failure('NOT_FOUND')), asked } as never);
  async function made(asked: KeyCall): Promise<Record<string, unknown>> {
    const result = await asking(asked);
    assert.ok('answer' in result, 'failure' in result ? String(result.failure) : '');
    return result.answer as Record<string, unknown>;
  }
  async function refused(asked: KeyCall | Failure): Promise<string> {
    const result = await asking(asked);
    assert.ok('failure' in result, 'was answered');
    assert.equal(world.log.at(-1)!.reason, result.failure.because);
    return `${result.failure.code} ${result.failure.field || result.failure.because}`;
  }

  it('signs with the private half', async () => {
    const { signature, token, kid, alg, rule, receipt } = await made(sign());
    assert.deepEqual(
      [signature, token, kid, alg, rule, receipt],
      ['signature', null, id, 'ES256', world.rules[0]!.id, 'receipt 2'],
    );
    assert.deepEqual(world.jobs, [`sign PRIVATE ES256 ${hello}`]);
    const [begun, done] = world.log.map(({ requested }) => requested.replace(/call=[\w-]{43}/, 'call=…'));
    assert.deepEqual([begun, done], ['key=sign ES256 call=… KEY', 'key=signed ES256 call=… KEY']);
    assert.deepEqual(
      world.log.map(({ status }) => status),
      [102, 200],
    );
  });

  it('verifies with the public half, and decrypts with the private one', async () => {
    assert.equal((await made(verify())).valid, true);
    assert.equal((await made(decrypt())).plaintext, 'plaintext');
    assert.deepEqual(world.jobs, [
      `verify PUBLIC ES256 ${hello} c2ln`,
      `decrypt PRIVATE RSA-OAEP-256 ${hello}`,
    ]);
  });

  it('signs claims as a token of its own id', async () => {
    const { signature, token } = await made(sign({ message: undefined, claims: { sub: 'me' } }));
    assert.equal(signature, null);
    const [header, claims, last] = String(token).split('.');
    assert.deepEqual(JSON.parse(Buffer.from(header!, 'base64url').toString()), {
      alg: 'ES256',
      typ: 'JWT',
      kid: id,
    });
    assert.equal(JSON.parse(Buffer.from(claims!, 'base64url').toString()).sub, 'me');
    assert.equal(last, 'signature');
  });

  it('needs a private half, where it does not verify', async () => {
    world.rows = [keyOf('public')];
    await made(verify());
    assert.equal(await refused(sign()), 'INVALID_REQUEST key');
    assert.equal(await refused(decrypt()), 'INVALID_REQUEST key');
    assert.equal(world.jobs.length, 1);
  });

  it('is found by the name or the id of its key', async () => {
    await made(sign({ key: id }));
    assert.deepEqual(world.asked, ['key with an id']);
    await made(sign());
    assert.deepEqual(world.asked, ['key with an id', 'key named KEY']);
    assert.equal(await refused(sign({ key: newId() })), 'NOT_FOUND not_found');
  });

  it('is one of a rule, by one of its algorithms: the first that allows it, or the one that is named', async () => {
    const signs = ruleOf({ operations: ['sign'] });
    const verifies = ruleOf({ operations: ['verify'], algorithms: ['RS256'] });
    const both = ruleOf({ operations: ['sign', 'verify'] });
    world.rules = [signs, verifies, both];
    assert.equal((await made(sign())).rule, signs.id);
    assert.equal((await made(verify())).rule, both.id);
    assert.equal((await made(verify({ alg: 'RS256' }))).rule, verifies.id);
    assert.equal((await made(sign({ rule: both.id }))).rule, both.id);
    const before = world.jobs.length;
    for (const asked of [
      sign({ rule: verifies.id }),
      sign({ rule: newId() }),
      sign({ alg: 'RS256' }),
      decrypt(),
    ])
      assert.equal(await refused(asked), 'FORBIDDEN no_use_rule');
    assert.equal(world.jobs.length, before);
  });

  it('signs a message or claims, and not both', async () => {
    assert.equal(await refused(sign({ message: undefined })), 'INVALID_REQUEST message');
    assert.equal(await refused(sign({ claims: {} })), 'INVALID_REQUEST message');
    assert.deepEqual(world.jobs, []);
  });

  it('signs tokens alone where the rule says so', async () => {
    world.rules = [ruleOf({ jwt: { issuer: null, audiences: null, max_lifetime: 60, claims: null } })];
    assert.equal(await refused(sign()), 'INVALID_REQUEST claims');
    await made(verify());
    assert.equal(world.jobs.length, 1);
  });

  it('that is not understood is refused', async () => {
    const failure = new Failure('INVALID_REQUEST', { field: 'alg', reason: 'is required' });
    assert.equal(await refused(failure), 'INVALID_REQUEST alg');
  });

  const approvals: [approval: string, waiting: string[]][] = [
    ['never', []],
    ['writes', ['sign', 'decrypt']],
    ['always', ['sign', 'verify', 'decrypt']],
  ];
  for (const [approval, waiting] of approvals)
    it(`waits for a person: ${approval}`, async () => {
      for (const asked of [sign(), verify(), decrypt()]) {
        world.rules = [ruleOf({ approval })];
        world.approvals = [];
        world.listener('all');
        if (!waiting.includes(asked.operation)) {
          await made(asked);
          continue;
        }
        world.jobs = [];
        assert.equal(await refused(asked), 'FORBIDDEN approval_required');
        assert.deepEqual(world.jobs, []);
        world.decide('approved');
        await made(asked);
        assert.equal(world.jobs.length, 1);
      }
    });

  const shown: [
    what: string,
    asked: () => KeyCall,
    body: string | null,
    base64: string | null,
    headers: object,
  ][] = [
    ['a text', () => sign(), 'hello', null, {}],
    ['bytes', () => sign({ message: base64url(Uint8Array.of(255)) }), null, '/w==', {}],
    ['what is verified, with its signature', () => verify(), 'hello', null, { signature: 'c2ln' }],
    ['what is decrypted', () => decrypt(), 'hello', null, {}],
    ['a text with points', () => sign({ message: base64url('aGk.aGk') }), 'aGk.aGk', null, {}],
    [
      'claims that are verified as the text that they are',
      () => verify({ message: base64url('aGk.aGk'), claims: {} }),
      'aGk.aGk',
      null,
      { signature: 'c2ln' },
    ],
  ];
  for (const [what, asked, body, base64, headers] of shown)
    it(`shows the very bytes to those who approve: ${what}`, async () => {
      world.rules = [ruleOf({ approval: 'always' })];
      assert.equal(await refused(asked()), 'FORBIDDEN approval_required');
      const request = JSON.parse(sealed[0]!);
      assert.deepEqual([request.body, request.body_base64, request.headers], [body, base64, headers]);
    });

  it('shows header and claims of a token as they are signed', async () => {
    world.rules = [ruleOf({ approval: 'always' })];
    assert.equal(
      await refused(sign({ message: undefined, claims: { sub: 'me' } })),
      'FORBIDDEN approval_required',
    );
    const { body } = JSON.parse(sealed[0]!);
    assert.match(body, /^\{"alg":"ES256".*\}\.\{"sub":"me".*\}$/);
  });

  it('is approved for its signature too', async () => {
    world.rules = [ruleOf({ approval: 'always' })];
    await refused(verify());
    await refused(verify({ signature: 'b3RoZXI' }));
    assert.notEqual(world.approvals[0]!.fingerprint, world.approvals[1]!.fingerprint);
    await refused(sign());
    const call = {
      tool: 'keys.sign',
      rule: world.rules[0],
      resource: world.rows[0],
      asked: ['sign', 'ES256', hello],
    };
    assert.equal(
      world.approvals[2]!.fingerprint,
      fingerprintOf(world.reader, call as never),
      'and nothing else',
    );
  });
});
