/**
 * Access keys that their holder restricts without asking: each restriction takes away, at every door, and none can be
 * taken off again. What is not written exactly as docs/agents.md says is refused as an unknown key is.
 */
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { matchesPattern } from '../src/access/caller.ts';
import { mintToken } from '../src/access/token.ts';
import { narrow, type Restrictions, vault } from '../src/client/client.ts';
import { onBothEngines } from './at-once.ts';
import { run } from './command.ts';
import { forged } from './forged.ts';
import { type Answer, beside, callService, eventually, type Service, startService } from './harness.ts';
import { bareSession, makeAccessKey, modernCall, post } from './mcp-world.ts';
import { restrictedFrom, withChecksum } from './restricted.ts';
import { inDatabase } from './storage.ts';

const minute = 61_000;
/** It opens nothing. */
const whole = mintToken('vault', '0199a3c4-7f00-7abc-8def-0123456789ab', size => Buffer.alloc(size, 7));
const secrets = ['CI_TOKEN', 'CI_URL', 'DB_URL', 'DB_USER'];
const message = Buffer.from('what is signed').toString('base64url');
const narrowed = async (key: string, ...chain: Restrictions[]) => {
  let token = key;
  for (const restrictions of chain) ({ token } = await narrow(token, restrictions));
  return token;
};

onBothEngines('access keys that their holder restricts', engine => {
  let service: Service;
  let vaultId: string;
  let parent: string;
  let parentId: string;
  let signingId: string;

  const make = async (path: string, body: object): Promise<Answer['body']> => {
    const answer = await service.call('POST', `/v1/${path}`, body);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const read = (key: string, query = '') =>
    callService(service.url, 'GET', `/api/v1/vaults/self${query}`, undefined, key);
  const namesIn = ({ status, body }: Answer): string[] | number =>
    status === 200 ? body.secrets.map(({ name }: { name: string }) => name).sort() : status;
  const sign = (key: string, named = 'CI_SIGNING') =>
    callService(
      service.url,
      'POST',
      '/api/v1/vaults/self/keys/sign',
      { key: named, alg: 'ES256', message },
      key,
    );
  const newest = async (): Promise<Answer['body']> =>
    (await service.call('GET', '/v1/request-logs?limit=1')).body.data[0];
  const dialect = (method: string, path: string, token: string, body?: object) =>
    service.call(method, `/vault/v1/${path}`, body, null, { 'x-vault-token': token });
  const accessKey = async (more: object = {}): Promise<string> =>
    (await make('access-keys', { vault_id: vaultId, name: 'another', ...more })).token;

  before(async () => {
    service = await startService({ engine });
    vaultId = (await make('vaults', { name: 'prod' })).id;
    for (const name of secrets) await make('secrets', { vault_id: vaultId, name, value: `value of ${name}` });
    const generate = { key_type: 'EC', curve: 'P-256' };
    for (const name of ['CI_SIGNING', 'DB_SIGNING']) {
      const { id } = await make('keys', { vault_id: vaultId, name, generate, exportable: false });
      signingId = id;
      const rule = { key_id: id, name: 'signs', operations: ['sign'], algorithms: ['ES256'] };
      await make('use-rules', { ...rule, approval: name === 'CI_SIGNING' ? 'never' : 'always' });
    }
    const made = await makeAccessKey(service, vaultId, { may_use: true });
    [parent, parentId] = [made.token, made.id];
  });
  after(() => service.stop());

  it('see what the restrictions leave, at every door', async () => {
    assert.deepEqual(namesIn(await read(parent)), secrets);
    const child = await narrowed(parent, { names: ['CI_*'] });
    assert.deepEqual(namesIn(await read(child)), ['CI_TOKEN', 'CI_URL']);
    assert.deepEqual(Object.keys((await read(child, '?format=map')).body), ['CI_TOKEN', 'CI_URL']);
    assert.equal((await read(child, '?name=CI_URL')).body.value, 'value of CI_URL');
    assert.equal((await read(child, '?name=DB_URL')).status, 404);
    assert.equal((await read(child, `?resource=${signingId}`)).status, 404);
    assert.equal(await vault({ url: service.url, key: child }).get('CI_URL'), 'value of CI_URL');
    assert.equal((await sign(child)).status, 200);
    assert.equal((await sign(child, 'DB_SIGNING')).status, 404);
    assert.equal((await dialect('GET', 'prod/data/CI_URL', child)).status, 200);
    assert.equal((await dialect('GET', 'prod/data/DB_URL', child)).status, 404);
    const tool = async (name: string, args: object, key: string | null) =>
      (await modernCall(service.url, name, args, { key })).body.result;
    const connection = { vault: { accessKey: child } };
    for (const [args, key] of [
      [{}, child],
      [connection, null],
    ] as const) {
      const { structuredContent: listed } = await tool('secrets.list', args, key);
      assert.deepEqual(listed.secrets.map(({ name }: { name: string }) => name).sort(), [
        'CI_TOKEN',
        'CI_URL',
      ]);
      assert.equal(
        (await tool('secrets.get', { name: 'DB_URL', ...args }, key)).structuredContent.status,
        404,
      );
      const signed = await tool('keys.sign', { key: 'CI_SIGNING', alg: 'ES256', message, ...args }, key);
      assert.ok(signed.structuredContent.signature, JSON.stringify(signed));
    }
    const { structuredContent: described } = await tool('vault.describe', {}, child);
    assert.deepEqual(described.access_key.restrictions, [{ names: ['CI_*'] }]);
  });

  it('lose their values, their uses and their kinds, and keep what was not restricted', async () => {
    const seen = await narrowed(parent, { namesOnly: true });
    assert.equal((await read(seen)).body.secrets[0].value, undefined);
    assert.equal((await read(seen, '?format=env')).status, 403);
    assert.equal((await sign(seen)).status, 200, 'what it may use, it may still use');
    const unused = await narrowed(parent, { mayUse: false });
    assert.equal((await read(unused)).body.secrets[0].value, 'value of CI_TOKEN');
    assert.equal((await sign(unused)).status, 403);
    const ofKeys = await narrowed(parent, { kinds: ['key', 'secret'] }, { kinds: ['key', 'certificate'] });
    const { body } = await read(ofKeys, '?include=keys,certificates');
    assert.deepEqual([body.secrets.length, body.keys.length], [0, 2]);
  });

  it('are good from their addresses and until their end alone', async () => {
    assert.equal((await read(await narrowed(parent, { cidrs: ['10.0.0.0/8'] }))).status, 401);
    const local = await narrowed(parent, { cidrs: ['127.0.0.0/8', '::1/128'] });
    assert.equal((await read(local)).status, 200);
    assert.equal((await read(await narrowed(local, { cidrs: ['10.0.0.0/8'] }))).status, 401);
    const end = new Date(service.clock.now() + minute);
    const short = await narrowed(parent, { expiresAt: end });
    assert.equal((await read(short)).status, 200);
    assert.equal(
      (await dialect('GET', 'auth/token/lookup-self', short)).body.data.expire_time,
      end.toISOString(),
    );
    service.clock.pass(minute);
    assert.equal((await read(short)).status, 401);
    const { status, access_key_id, narrowing } = await newest();
    assert.deepEqual([status, access_key_id], [401, parentId]);
    assert.deepEqual(narrowing.restrictions, [{ expiration_date: end.toISOString() }]);
    const longer = await narrowed(short, { expiresAt: new Date(service.clock.now() + minute) });
    assert.equal((await read(longer)).status, 401, 'a later end is none');
    service.clock.pass(minute);
  });

  it('never see more than what they were made of, whatever is added to it', async () => {
    const pattern = fc.constantFrom('*', 'CI_*', 'DB_*', '*_URL', 'CI_TOKEN', '*SIGNING*', 'nothing');
    const restrictions = fc
      .record(
        {
          names: fc.uniqueArray(pattern, { minLength: 1, maxLength: 3 }),
          kinds: fc.uniqueArray(fc.constantFrom('secret' as const, 'key' as const), { minLength: 1 }),
          namesOnly: fc.constant(true as const),
          mayUse: fc.constant(false as const),
          cidrs: fc.constantFrom(['127.0.0.0/8', '::1/128'], ['10.0.0.0/8'], ['0.0.0.0/0', '::/0']),
          expiresAt: fc.constantFrom(new Date('2020-01-01'), new Date('2090-01-01'), new Date('2080-01-01')),
        },
        { requiredKeys: [] },
      )
      .filter(one => Object.keys(one).length > 0);
    /** All that a key gets, as lines: more of them is more. */
    const rightsOf = async (key: string): Promise<string[]> => {
      const [listed, signed] = await Promise.all([read(key, '?include=keys'), sign(key)]);
      const items = listed.status === 200 ? [...listed.body.secrets, ...listed.body.keys] : [];
      return [
        ...items.flatMap(item => [item.name, ...(item.value ? [`${item.name} = ${item.value}`] : [])]),
        ...(signed.status === 200 ? ['signs'] : []),
      ].sort();
    };
    const expected = (chain: readonly Restrictions[]): string[] => {
      const every = (holds: (one: Restrictions) => boolean) => chain.every(holds);
      const isGood = every(
        one => !one.cidrs?.includes('10.0.0.0/8') && !(Number(one.expiresAt) < Date.now()),
      );
      const sees = (kind: 'secret' | 'key', name: string) =>
        isGood &&
        every(({ kinds }) => kinds === undefined || kinds.includes(kind)) &&
        every(({ names }) => names === undefined || names.some(one => matchesPattern(one, name)));
      const named = secrets.filter(name => sees('secret', name));
      const isOpen = every(one => one.namesOnly === undefined);
      const signs = sees('key', 'CI_SIGNING') && every(one => one.mayUse === undefined);
      return [
        ...named,
        ...(isOpen ? named.map(name => `${name} = value of ${name}`) : []),
        ...['CI_SIGNING', 'DB_SIGNING'].filter(name => sees('key', name)),
        ...(signs ? ['signs'] : []),
      ].sort();
    };
    await fc.assert(
      fc.asyncProperty(fc.array(restrictions, { minLength: 1, maxLength: 4 }), async chain => {
        service.clock.pass(minute); // Those that are not good at all count as failures of this address.
        let [token, before] = [parent, expected([])];
        for (const [at, one] of chain.entries()) {
          token = await narrowed(token, one);
          const rights = await rightsOf(token);
          assert.deepEqual(rights, expected(chain.slice(0, at + 1)));
          assert.deepEqual(
            rights.filter(right => !before.includes(right)),
            [],
          );
          before = rights;
        }
      }),
      { numRuns: 30, seed: 18 },
    );
  });

  it('are refused like an unknown key where anything about them was altered', async () => {
    const links = ['{"names":["CI_*"]}', '{"names_only":true}'];
    const child = restrictedFrom(parent, links);
    assert.equal(child, await narrowed(parent, { names: ['CI_*'] }, { namesOnly: true }));
    assert.equal((await read(child)).status, 200);
    const markOf = (chain: readonly string[]) =>
      chain.reduce(
        (key, link) => createHmac('sha256', key).update(link).digest(),
        createHmac('sha256', parent).update('strongroom narrow 1').digest(),
      );
    const mark = markOf(links);
    const other = await accessKey();
    const altered: Record<string, string> = {
      'without its last restriction': restrictedFrom(parent, links.slice(0, 1), { mark }),
      'without its first restriction': restrictedFrom(parent, links.slice(1), { mark }),
      'without any': restrictedFrom(parent, [], { mark }),
      'without any, and with what the chain begins with': restrictedFrom(parent, []),
      reordered: restrictedFrom(parent, [...links].reverse(), { mark }),
      joined: restrictedFrom(parent, [links.join('')], { mark }),
      'with another restriction': restrictedFrom(parent, ['{"names":["*"]}', links[1]!], { mark }),
      'extended without a link': restrictedFrom(parent, [...links, '{"may_use":false}'], { mark }),
      'of another access key': restrictedFrom(other, links, { mark }),
      'of a forged access key': restrictedFrom(forged(parent), links),
      'of another version': restrictedFrom(parent, links, { version: 2 }),
      'of another version, with the mark of this one': restrictedFrom(parent, links, { version: 2, mark }),
      'with a length that is too long': restrictedFrom(parent, links, { lengths: length => length + 1 }),
      'with a length that is too short': restrictedFrom(parent, links, { lengths: length => length - 1 }),
      'as a whole access key': restrictedFrom(parent, links, { prefix: 'sr_vault_' }),
      'with another checksum': `${child.slice(0, -1)}${child.endsWith('0') ? '1' : '0'}`,
      truncated: withChecksum(child.slice(0, -7)),
      'with a digit more': withChecksum(`${child.slice(0, -6)}0`),
      'with a sign that is no digit': withChecksum(`${child.slice(0, 40)}-${child.slice(41, -6)}`),
    };
    const unwritten = [
      '{"names_only":true,"names":["CI_*"]}',
      '{ "names_only":true}',
      '{"names_only":true,"names_only":true}',
      '{"names_only":false}',
      '{"may_use":true}',
      '{"names":[]}',
      '{"names":"CI_*"}',
      '{"names":["CI_*",1]}',
      '{"names":["Cafe\u0301"]}',
      '{"names":null}',
      '{"kinds":["vault"]}',
      '{"cidrs":["10.0.0.0"]}',
      '{"cidrs":["10.0.0.0/33"]}',
      '{"expiration_date":"2090-01-01T00:00:00Z"}',
      '{"expiration_date":"2090-02-31T00:00:00.000Z"}',
      '{"expiration_date":4102444800}',
      '{"max_uses":1}',
      '{"rate_limit":1}',
      '{"paths":["a"]}',
      '{"__proto__":{}}',
      '{}',
      '[]',
      'true',
      '',
    ];
    for (const link of unwritten) altered[`restricted to ${link}`] = restrictedFrom(parent, [link]);
    const once = '{"names_only":true}';
    altered['with too many'] = restrictedFrom(
      parent,
      Array.from({ length: 9 }, () => once),
    );
    altered['with too long ones'] = restrictedFrom(parent, [JSON.stringify({ names: ['x'.repeat(1_600)] })]);
    const text = (link: string) => ({ what: link, status: 401, body: '{"message":"Unauthorized"}' });
    let done = 0;
    for (const [what, token] of Object.entries(altered)) {
      if (done++ % 10 === 0) service.clock.pass(minute);
      const refused = await read(token);
      assert.deepEqual({ what, status: refused.status, body: refused.text }, text(what));
    }
    assert.equal(
      (
        await read(
          restrictedFrom(
            parent,
            Array.from({ length: 8 }, () => once),
          ),
        )
      ).status,
      200,
    );
    service.clock.pass(minute);
  });

  it('are refused with any digit changed, with or without its checksum', async () => {
    const child = await narrowed(parent, { names: ['CI_*'], namesOnly: true });
    const digit = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
    let done = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(child.length - 11), digit, fc.boolean(), async (place, to, isChecked) => {
        const at = 'sr_narrow_'.length + place;
        fc.pre(child[at] !== to);
        if (done++ % 10 === 0) service.clock.pass(minute);
        const changed = `${child.slice(0, at)}${to}${child.slice(at + 1)}`;
        const sent = isChecked ? withChecksum(changed.slice(0, -6)) : changed;
        fc.pre(sent !== child);
        assert.equal((await read(sent)).status, 401, sent);
      }),
      { numRuns: 60, seed: 18 },
    );
    service.clock.pass(minute);
  });

  it('stand in the log by what they are restricted to', async () => {
    const { token, id } = await narrow(parent, { names: ['CI_*'], namesOnly: true });
    await read(token);
    const entry = await newest();
    assert.equal(entry.access_key_id, parentId);
    assert.deepEqual(entry.narrowing, { id, restrictions: [{ names: ['CI_*'], names_only: true }] });
    await read(parent);
    assert.equal((await newest()).narrowing, null);
    const { text } = await service.call('GET', '/v1/request-logs/export?format=csv');
    assert.ok(
      text.includes(`"{""id"":""${id}"",""restrictions"":[{""names"":[""CI_*""],""names_only"":true}]}"`),
    );
  });

  it('can neither create access keys nor revoke the one that they come of', async () => {
    const child = await narrowed(parent, { names: ['CI_*'] });
    assert.equal((await dialect('POST', 'auth/token/create', child, {})).status, 403);
    assert.equal((await dialect('POST', 'auth/token/revoke-self', child, {})).status, 403);
    assert.equal((await dialect('POST', 'auth/token/renew-self', child, {})).body.auth.client_token, child);
    assert.equal((await read(parent)).status, 200);
    for (const path of ['/v1/vaults', '/v1/access-keys'])
      assert.equal((await service.call('GET', path, undefined, child)).status, 401);
  });

  it('end with the access key that they come of, and change with it', async () => {
    const { id, token } = await makeAccessKey(service, vaultId);
    const child = await narrowed(token, { names: ['CI_*'] });
    assert.deepEqual(namesIn(await read(child)), ['CI_TOKEN', 'CI_URL']);
    await service.call('PUT', `/v1/access-keys/${id}`, { names: ['*_URL'] });
    assert.deepEqual(namesIn(await read(child)), ['CI_URL']);
    const born = await dialect('POST', 'auth/token/create', token, { ttl: '1h' });
    const grandchild = await narrowed(
      born.body.auth.client_token,
      { names: ['CI_*', 'DB_*'] },
      { namesOnly: true },
    );
    assert.deepEqual(namesIn(await read(grandchild)), ['CI_URL', 'DB_URL']);
    assert.equal((await read(grandchild)).body.secrets[0].value, undefined);
    const replica = engine === 'postgres' ? await service.replica() : null;
    const elsewhere = async () =>
      replica === null
        ? 401
        : (await callService(replica.url, 'GET', '/api/v1/vaults/self', undefined, child)).status;
    if (replica !== null) assert.equal(await elsewhere(), 200);
    await service.call('DELETE', `/v1/access-keys/${id}`);
    assert.deepEqual([(await read(child)).status, (await read(grandchild)).status], [401, 401]);
    await eventually(
      'the replica refuses the token of a revoked key',
      async () => (await elsewhere()) === 401,
    );
  });

  it('share the limits of the access key that they come of', async () => {
    service.clock.standInNewMinute();
    const limited = await accessKey({ rate_limit: 2 });
    const [one, another] = [
      await narrowed(limited, { namesOnly: true }),
      await narrowed(limited, { mayUse: false }),
    ];
    assert.deepEqual(
      [(await read(one)).status, (await read(another)).status, (await read(one)).status],
      [200, 200, 429],
    );
    service.clock.run();
    const counted = await accessKey({ max_uses: 2 });
    const child = await narrowed(counted, { names: ['CI_*'] });
    assert.deepEqual(
      [(await read(child)).status, (await read(counted)).status, (await read(child)).status],
      [200, 200, 401],
    );
    const { data } = (await service.call('GET', '/v1/audit-logs?action=access-key.used')).body;
    assert.match(data.at(-1).details.narrowing, /^[0-9a-f]{16}$/);
  });

  it('are approved, and open sessions of tools, each for itself', async () => {
    const child = await narrowed(parent, { names: ['DB_*'] });
    for (const key of [parent, child, child]) assert.equal((await sign(key, 'DB_SIGNING')).status, 403);
    const { data } = (await service.call('GET', '/v1/approvals')).body;
    assert.deepEqual(data.length, 2);
    const { body: shown } = await service.call('GET', `/v1/approvals/${data[0].id}`);
    assert.equal(shown.access_key, 'agent');
    assert.match(shown.restriction, /^[0-9a-f]{16}$/);
    const session = await bareSession(service.url, child);
    const list = (key: string) => post(service.url, { method: 'tools/list' }, { session, key });
    assert.equal((await list(child)).status, 200);
    assert.equal((await list(parent)).status, 403);
    assert.equal((await list(await narrowed(child, { namesOnly: true }))).status, 403);
  });

  it('are good by the key that was stored for their own access key, and by no other that is put in its place', async () => {
    const [own, other] = [await makeAccessKey(service, vaultId), await makeAccessKey(service, vaultId)];
    const child = await narrowed(own.token, { namesOnly: true });
    assert.equal((await read(child)).status, 200);
    const stored = `(SELECT narrowing_key FROM credentials WHERE id = '${other.id}')`;
    await service.restartAfter(() =>
      inDatabase(service, `UPDATE credentials SET narrowing_key = ${stored} WHERE id = '${own.id}'`),
    );
    assert.equal((await read(child)).status, 500);
    assert.equal((await read(await narrowed(other.token, { namesOnly: true }))).status, 200);
    assert.equal((await read(own.token)).status, 200, 'the access key itself does not depend on it');
  });

  it('come of older access keys once these were used', async () => {
    const { id, token } = await makeAccessKey(service, vaultId);
    await service.restartAfter(async () => {
      const older = await beside(service, async ({ store, domain }) => {
        const row = domain.stamps.credential.believe((await store.credentials.byId(id))!);
        return domain.stamps.credential.stamp({ ...row, narrowing_key: null });
      });
      const stamp = Buffer.from(older.stamp).toString('hex');
      const bytes = engine === 'postgres' ? `'\\x${stamp}'` : `x'${stamp}'`;
      await inDatabase(
        service,
        `UPDATE credentials SET narrowing_key = NULL, stamp = ${bytes} WHERE id = '${id}'`,
      );
    });
    const child = await narrowed(token, { namesOnly: true });
    assert.equal((await read(child)).status, 401);
    assert.equal((await read(token)).status, 200);
    await service.restart();
    assert.equal((await read(child)).status, 200);
  });
});

describe('narrowing without a service', () => {
  const page = new URL('../docs/agents.md', import.meta.url);

  it('gives what the documentation shows', async () => {
    const [, vectors = ''] = /```json narrowing\n([\s\S]*?)```/.exec(await readFile(page, 'utf8')) ?? [];
    const examples: { key: string; restrictions: Record<string, unknown>[]; token: string; id: string }[] =
      JSON.parse(vectors);
    assert.ok(examples.length >= 3);
    for (const { key, restrictions, token, id } of examples) {
      let made = { token: key, id: '' };
      for (const one of restrictions) made = await narrow(made.token, asGiven(one));
      assert.deepEqual(made, { token, id });
      assert.equal(
        restrictedFrom(
          key,
          restrictions.map(one => JSON.stringify(one)),
        ),
        token,
      );
    }
  });

  it('says what is wrong without repeating it', async () => {
    const refused = (given: string, restrictions: object) =>
      assert.rejects(narrow(given, restrictions), (error: Error) => {
        assert.match(error.message, /must|nothing|unknown|at most|incomplete|can’t be combined/);
        assert.ok(!error.message.includes('CI_') && !error.message.includes(given.slice(10)));
        return true;
      });
    await refused(`${whole.slice(0, -1)}_`, { namesOnly: true });
    await refused(forged(whole).slice(0, -6) + whole.slice(-6), { namesOnly: true });
    await refused('sr_api_0123456789', { namesOnly: true });
    const wrong = [
      {},
      { names: [] },
      { names: [''] },
      { names: ['CI_\n'] },
      { kinds: ['CI_'] },
      { cidrs: ['CI_'] },
    ];
    const more = [{ maxUses: 1 }, { namesOnly: false }, { mayUse: true }, { expiresAt: new Date('CI_') }];
    const both = { expiresAt: new Date(), expiresInSeconds: 1 };
    for (const one of [...wrong, ...more, both, { names: ['CI_'.repeat(80), ...'CI_'.repeat(20)] }]) {
      await refused(whole, one);
    }
    await refused(whole, { names: Array.from({ length: 10 }, (_, at) => `${at}${'CI_'.repeat(70)}`) });
    await refused(
      restrictedFrom(
        whole,
        Array.from({ length: 8 }, () => '{"names_only":true}'),
      ),
      { mayUse: false },
    );
  });

  it('is a command that takes no key as an argument', async () => {
    const env = { STRONGROOM_ACCESS_KEY: whole };
    const flags = [
      '--names',
      'CI_*,X',
      '--kinds',
      'secret',
      '--names-only',
      '--no-use',
      '--from',
      '10.0.0.0/8',
    ];
    const at = ['--expires-at', '2090-01-01T00:00:00Z'];
    const { code, stdout, stderr } = await run(['narrow', ...flags, ...at, '--json'], { env });
    assert.equal(code, 0, stderr);
    const restriction = {
      cidrs: ['10.0.0.0/8'],
      expiration_date: '2090-01-01T00:00:00.000Z',
      kinds: ['secret'],
      may_use: false,
      names: ['CI_*', 'X'],
      names_only: true,
    };
    assert.equal(JSON.parse(stdout).token, restrictedFrom(whole, [JSON.stringify(restriction)]));
    const argued = await run(['narrow', whole, '--names-only']);
    assert.equal(argued.code, 2);
    assert.ok(!argued.stderr.includes(whole));
  });
});

/** What the service writes, as the library takes it. */
function asGiven({
  expiration_date: end,
  names_only,
  may_use,
  ...same
}: Record<string, unknown>): Restrictions {
  return {
    ...same,
    ...(names_only === undefined ? {} : { namesOnly: true }),
    ...(may_use === undefined ? {} : { mayUse: false }),
    ...(end === undefined ? {} : { expiresAt: new Date(end as string) }),
  };
}
