/** Calls that are made with a secret: which leave, what is counted and logged of them, and what is handed out. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { Failure, statusOf } from '../src/contract/errors.ts';
import { isId } from '../src/contract/id.ts';
import type { UseAnswer, UseCall, Verdict } from '../src/contract/uses.ts';
import { Refused } from '../src/domain/credentials/authentication.ts';
import type { IdentifiedSecretUses } from '../src/domain/uses/secret-uses.ts';
import { secretUsesWith } from '../src/domain/uses/secret-uses.ts';
import { BareUses, newId, organizationId, rowOf, value, vaultId } from './bare-uses.ts';

const url = 'https://api.example.com/own/x';
const ruleOf = (said: object = {}) => ({
  id: newId(),
  name: 'rule',
  revision: 1,
  approval: 'never',
  rate_limit: null,
  hosts: ['api.example.com'],
  methods: ['GET', 'POST'],
  paths: ['/own/**'],
  place: { type: 'bearer' },
  request_headers: ['accept', 'x-own'],
  response_headers: ['content-type'],
  max_request: 1_000,
  max_response: 2_000,
  binary: false,
  response: 'full',
  timeout: 30,
  store: null,
  ...said,
});

let world: BareUses;
let uses: IdentifiedSecretUses;
beforeEach(() => {
  world = new BareUses();
  world.rows = [rowOf()];
  world.rules = [ruleOf()];
  uses = secretUsesWith(world.parts);
});

const asking = (said: Partial<UseCall> = {}) => uses.use(world.request({ secret: 'TOKEN', url, ...said }));

async function made(said: Partial<UseCall> = {}): Promise<UseAnswer> {
  const result = await asking(said);
  assert.ok('answer' in result, 'failure' in result ? String(result.failure) : '');
  return result.answer as UseAnswer;
}

/** What it was refused with; its entry says the same. */
async function refused(said: Partial<UseCall> = {}): Promise<string> {
  const result = await asking(said);
  assert.ok('failure' in result, 'was answered');
  const { failure, status } = result;
  const entry = world.log.at(-1)!;
  assert.deepEqual([status, entry.status, entry.success], [statusOf[failure.code], status, false]);
  assert.equal(entry.reason, failure.because);
  return `${failure.code} ${failure.field || failure.because}`;
}

describe('a call with a secret', () => {
  it('leaves as it was asked for, with the value, once the log has it; and its outcome is logged', async () => {
    const answer = await made({ method: 'POST', headers: { 'x-own': 'a' }, body: 'hello' });
    const [order] = world.orders;
    assert.deepEqual(
      { ...order, body: order!.body?.toString() },
      {
        url,
        headers: { 'x-own': 'a', authorization: `Bearer ${value}` },
        body: 'hello',
        secret: world.rows[0]!.id,
        lane: { organization: organizationId, key: 'counted' },
        isOnce: false,
        method: 'POST',
        values: [value],
        responseHeaders: ['content-type'],
        maxResponse: 2_000,
        binary: false,
        response: 'full',
        pointer: null,
        patience: 30_000,
      },
    );
    assert.deepEqual(
      world.log.map(({ status, success }) => [status, success]),
      [
        [102, true],
        [200, true],
      ],
    );
    const [begun, done] = world.log.map(({ requested }) => requested.replace(/call=[\w-]{43}/, 'call=…'));
    assert.equal(begun, 'secret=use POST api.example.com/own/** call=… TOKEN');
    assert.equal(done, 'secret=used POST api.example.com/own/** call=… answered=200 0B redacted=0 TOKEN');
    const { request_id, receipt, rule, redacted } = answer;
    assert.deepEqual([receipt, rule, redacted], ['receipt 2', world.rules[0]!.id, 0]);
    assert.ok(isId(request_id));
    assert.equal(request_id, world.log[0]!.request_id);
    assert.equal(request_id, world.log[1]!.request_id);
    assert.deepEqual(world.looked, [`${url}\nx-own\na\nhello`], 'all that the agent chose');
    assert.deepEqual(world.changes, []);
  });

  it('has an answer as it came, and its own id where it was given one', async () => {
    world.result = { headers: { 'content-type': 'text/plain' }, body: 'fine', redacted: 2, bytes: 9 };
    const call = { secret: 'TOKEN', url };
    const result = await uses.use(world.request(call, { requestId: 'theirs', vaultId: null }));
    assert.ok('answer' in result);
    const { body, headers, redacted, request_id } = result.answer as UseAnswer;
    assert.deepEqual(
      [body, headers, redacted, request_id],
      ['fine', { 'content-type': 'text/plain' }, 0, 'theirs'],
    );
    assert.equal(result.requestId, 'theirs');
    assert.match(world.log[1]!.requested, / answered=200 9B redacted=2 TOKEN$/);
  });

  it('that failed says so in the log, without a status', async () => {
    world.result = { outcome: 'failed', status: null, reason: 'no answer came' };
    assert.equal((await made()).reason, 'no answer came');
    assert.match(world.log[1]!.requested, / failed= 0B redacted=0 TOKEN$/);
  });

  it('that is not understood is refused, for those who may use', async () => {
    const failure = new Failure('INVALID_REQUEST', { field: 'url', reason: 'is required' });
    const result = await uses.use(world.request(failure));
    assert.ok('failure' in result && result.failure === failure);
    assert.equal(world.log.at(-1)!.status, 400);
    world.reader = { ...world.reader, mayUse: false };
    const other = await uses.use(world.request(failure));
    assert.ok('failure' in other);
    assert.deepEqual([other.failure.code, other.failure.because], ['FORBIDDEN', 'may_not_use']);
    assert.deepEqual(world.asked, []);
  });

  it('is judged by the rule that it names, or by all', async () => {
    const [one, two, other] = [ruleOf({ methods: ['POST'] }), ruleOf(), ruleOf()];
    world.rules = [one, two, other];
    assert.equal((await made()).rule, two.id);
    assert.equal((await made({ rule: other.id })).rule, other.id);
    assert.equal(await refused({ rule: one.id }), 'FORBIDDEN no_use_rule');
    assert.equal(await refused({ rule: newId() }), 'FORBIDDEN no_use_rule');
    assert.equal(world.orders.length, 2);
  });

  it('is only said to be allowed where that alone is asked', async () => {
    const result = await asking({ dry_run: true });
    assert.ok('answer' in result);
    const { allowed, rule } = result.answer as Verdict;
    assert.deepEqual([allowed, rule], [true, world.rules[0]!.id]);
    assert.deepEqual([world.orders, world.counts, world.log.length], [[], [], 1]);
    assert.equal(world.log[0]!.requested, 'secret=use dry-run TOKEN');
    assert.ok(!('receipt' in result.answer));
    const other = await asking({ dry_run: true, url: 'https://elsewhere.example.com/own/x' });
    assert.equal('answer' in other && (other.answer as Verdict).allowed, false);
    assert.equal(world.log[1]!.status, 200);
  });

  it('of a secret that is not there is refused, and logged by what is known of it', async () => {
    assert.equal(await refused({ secret: 'OTHER' }), 'NOT_FOUND not_found');
    assert.equal(world.log[0]!.requested, 'secret=use');
    assert.equal(await refused({ url: 'nothing' }), 'INVALID_REQUEST url');
  });

  it('that the service fails at is an error of the service', async () => {
    world.broken = new Error('broken');
    const result = await asking();
    assert.ok('failure' in result);
    assert.deepEqual([result.failure.code, result.failure.cause], ['INTERNAL_ERROR', world.broken]);
    assert.equal(world.log[0]!.organization_id, organizationId);
  });
});

describe('who asks for a call', () => {
  it('stays the access key that was found, whatever it is refused by later', async () => {
    const isRefused = new Refused(0, null, 'revoked');
    world.rules = [];
    Object.defineProperty(world, 'isSeen', {
      get: () => {
        throw isRefused;
      },
    });
    await refused();
    await refused();
    assert.equal(world.log[1]!.access_key_id, world.reader.id);
  });

  it('is limited by the minute, and in all, where that was said', async () => {
    world.reader = { ...world.reader, rateLimit: 2 };
    await made();
    await made();
    assert.equal(await refused(), 'RATE_LIMITED rate_limit');
    assert.deepEqual(
      world.counts.filter(count => count.startsWith('counted')),
      ['counted +1', 'counted +1', 'counted +1'],
    );
    assert.deepEqual(world.changes, []);
    world.reader = { ...world.reader, rateLimit: null, maxUses: 5 };
    await made();
    assert.deepEqual(world.changes, ['access-key.used']);
  });
});

describe('calls under a rule', () => {
  const limited = (said: object = {}) => {
    world.rules = [ruleOf({ rate_limit: 1, ...said })];
    return world.rules[0]!.id as string;
  };
  /** But for whether the access key is suspended, which is looked up once. */
  const countsOf = (id: string) => world.counts.slice(1).map(count => count.replace(id, 'rule'));

  it('count where it has a limit', async () => {
    const id = limited();
    await made();
    assert.deepEqual(countsOf(id), ['rule +1']);
    assert.equal(await refused(), 'RATE_LIMITED rate_limit');
    assert.equal(world.orders.length, 1);
  });

  it('count nothing where it has none', async () => {
    await made();
    assert.equal(world.counts.length, 1);
  });

  it('that wait for a person count as attempts of their access key alone, once approved for the rule', async () => {
    const id = limited({ approval: 'always', rate_limit: 2 });
    assert.equal(await refused(), 'FORBIDDEN approval_required');
    assert.equal(countsOf(id).length, 2);
    assert.match(countsOf(id)[0]!, /^[0-9a-f-]{36} \+1$/);
    assert.equal(countsOf(id)[1], 'rule ?');
    world.decide('approved');
    await made();
    assert.deepEqual(countsOf(id).slice(3), ['rule ?', 'rule +1']);
    assert.equal(world.orders[0]!.isOnce, true);
    assert.equal(await refused(), 'RATE_LIMITED rate_limit', 'the third attempt');
  });

  it('that are past its limit are refused before a person is asked', async () => {
    const id = limited({ approval: 'always', rate_limit: 1 });
    world.counted.set(`${id} ${world.time / 1_000}`, 1);
    assert.equal(await refused(), 'RATE_LIMITED rate_limit');
    assert.deepEqual(world.approvals, []);
  });

  it('wait for a person where it says so: for each, or for those that change something', async () => {
    limited({ approval: 'writes', rate_limit: null });
    await made();
    assert.equal(world.orders[0]!.isOnce, false);
    assert.equal(await refused({ method: 'POST', body: 'x' }), 'FORBIDDEN approval_required');
    world.decide('refused');
    assert.equal(await refused({ method: 'POST', body: 'x' }), 'FORBIDDEN approval_refused');
    world.decide('approved', 'rule');
    await made({ method: 'POST', body: 'x' });
    assert.equal(world.orders.length, 2);
  });
});

describe('what is approved', () => {
  const shown: [what: string, said: Partial<UseCall>, body: string | null, base64: string | null][] = [
    ['no body', {}, null, null],
    ['a text', { method: 'POST', body: 'hellö' }, 'hellö', null],
    ['bytes', { method: 'POST', body_base64: '/w==' }, null, '/w=='],
    ['a text in base64', { method: 'POST', body_base64: 'aGk=' }, 'hi', null],
  ];
  for (const [what, said, body, base64] of shown)
    it(`is what is sent: ${what}`, async () => {
      world.rules = [ruleOf({ approval: 'always' })];
      const parts = world.parts;
      const sealed: string[] = [];
      const visibility = {
        ...parts.visibility,
        openVault: async () => ({
          row: { id: vaultId },
          sealer: {
            seal: (_: unknown, text: Buffer) => {
              sealed.push(text.toString());
              return Buffer.alloc(0);
            },
          },
        }),
      };
      uses = secretUsesWith({ ...parts, visibility } as never);
      assert.equal(await refused(said), 'FORBIDDEN approval_required');
      const request = JSON.parse(sealed[0]!);
      assert.deepEqual(
        [request.tool, request.secret, request.url, request.body, request.body_base64],
        ['secrets.use', 'TOKEN', url, body, base64],
      );
      const prints = new Set([world.approvals[0]!.fingerprint]);
      for (const other of [{ method: 'POST', body: 'other' }, { method: 'POST' }] as const) {
        await refused(other);
        prints.add(world.approvals.at(-1)!.fingerprint);
      }
      assert.equal(prints.size, 3);
    });
});

describe('a call that contains a part of the value', () => {
  it('is refused and counted; with three, the access key is suspended for a week', async () => {
    world.partsIn = text => (text.includes('guess') ? 1 : 0);
    const guess = { headers: { 'x-own': 'guess' } };
    for (let count = 0; count < 3; count++) assert.equal(await refused(guess), 'FORBIDDEN value_in_request');
    assert.equal(await refused(guess), 'FORBIDDEN use_suspended');
    assert.equal(await refused(), 'FORBIDDEN use_suspended');
    assert.deepEqual([world.orders, world.log.every(({ status }) => status === 403)], [[], true]);
    world.rows = [rowOf({ ...world.rows[0]!, version: 2 })];
    world.listener('all');
    await made();
  });

  it('counts as often as it guesses, and three times at most', async () => {
    world.partsIn = () => 500;
    assert.equal(await refused(), 'FORBIDDEN value_in_request');
    assert.match(world.counts.at(-1)!, / \+3$/);
    world.partsIn = () => 0;
    assert.equal(await refused(), 'FORBIDDEN use_suspended');
  });

  it('is sent where nothing of an answer comes back, but not by one that is suspended', async () => {
    world.rules = [ruleOf({ response: 'status-only' })];
    world.partsIn = () => 3;
    await made();
    assert.deepEqual(world.looked, []);
    world.result = { parts: 3 };
    await made();
    assert.equal(await refused(), 'FORBIDDEN use_suspended');
  });
});

describe('an answer that contains a part of the value', () => {
  it('is counted, and said in the log', async () => {
    world.result = { parts: 1, outcome: 'withheld', redacted: 0, bytes: 5 };
    assert.equal((await made()).outcome, 'withheld');
    assert.match(world.counts.at(-1)!, / \+1$/);
    assert.match(world.log[1]!.requested, / withheld=200 5B part-of-value TOKEN$/);
    await made();
    await made();
    assert.equal(await refused(), 'FORBIDDEN use_suspended');
    assert.equal(world.orders.length, 3);
  });

  for (const response of ['full', 'status-only'] as const)
    it(`suspends the access key for the calls beside it: ${response}`, async () => {
      world.rules = [ruleOf({ response })];
      const { parts } = world;
      const slow = Promise.withResolvers<void>();
      const results = [{ body: 'told' }, { parts: 3 }];
      const call: typeof parts.broker.call = async order => {
        const result = results.shift()!;
        if (result.parts === undefined) await slow.promise;
        world.result = result;
        return parts.broker.call(order);
      };
      uses = secretUsesWith({ ...parts, broker: { ...parts.broker, call } });
      const first = asking();
      await new Promise(setImmediate);
      await made();
      slow.resolve();
      const late = await first;
      if (response === 'status-only') return assert.ok('answer' in late, 'nothing of the answer is in it');
      assert.ok('failure' in late);
      assert.equal(late.failure.because, 'use_suspended');
    });
});

describe('a value that can’t be told from other text', () => {
  for (const [what, stored] of [
    ['too short', 'short'],
    ['too long', 'a1'.repeat(8 * 1024 + 1)],
  ] as const)
    it(`is used where the status alone comes back: ${what}`, async () => {
      world.rows = [rowOf({ value: stored })];
      assert.equal(await refused(), 'INVALID_REQUEST secret');
      assert.deepEqual(world.orders, []);
      world.rules = [ruleOf({ response: 'status-only' })];
      world.listener('all');
      await made();
      assert.equal(world.orders.length, 1);
    });
});

describe('what a call brings about', () => {
  let target: ReturnType<typeof rowOf>;
  beforeEach(() => {
    target = rowOf({ name: 'MINTED', value: 'before', version: 4 });
    world.rows.push(target);
    world.rules = [ruleOf({ response: 'store', store: { secret_id: target.id, pointer: '/token' } })];
    world.result = { minted: 'minted' };
  });

  it('goes into its secret, and to nobody', async () => {
    const { stored, body } = await made();
    assert.deepEqual([stored, body], [{ secret_id: target.id, version: 5 }, null]);
    assert.deepEqual(world.changes, ['secret.updated']);
    assert.deepEqual([world.orders[0]!.pointer, world.orders[0]!.response], ['/token', 'store']);
    assert.deepEqual(world.looked, ['minted']);
  });

  it('is proposed where its vault demands review', async () => {
    world.proposes = true;
    const { stored, proposal } = await made();
    assert.deepEqual([stored, proposal?.id, world.changes], [null, 'proposal', []]);
  });

  it('stores nothing where the answer had none', async () => {
    world.result = {};
    assert.equal((await made()).stored, null);
    assert.deepEqual([world.changes, world.looked], [[], []]);
  });

  it('is tried again where another change was faster', async () => {
    world.stale = 2;
    assert.equal((await made()).stored?.version, 5);
    assert.equal(world.asked.filter(what => what === 'vault again').length, 2, 'its vault, too');
  });

  it('makes no new version where it is what the secret holds', async () => {
    world.result = { minted: 'before' };
    assert.deepEqual((await made()).stored, { secret_id: target.id, version: 4 });
    assert.deepEqual(world.changes, []);
  });

  it('is withheld where it is the value that was sent; but a secret may be replaced by its own', async () => {
    world.partsIn = text => (text === 'minted' ? 1 : 0);
    const { outcome, reason, stored } = await made();
    assert.deepEqual([outcome, reason, stored], ['withheld', 'the field to store contains the value', null]);
    assert.deepEqual(world.changes, []);
    world.rules = [ruleOf({ response: 'store', store: { secret_id: world.rows[0]!.id, pointer: '/t' } })];
    world.listener('all');
    assert.equal((await made()).stored?.secret_id, world.rows[0]!.id);
  });

  it('goes nowhere where the row of its secret is not ours', async () => {
    for (const forged of [{ isForged: true }, { isForgedLater: true }]) {
      world.rows[1] = { ...target, ...forged };
      assert.equal(await refused(), 'INTERNAL_ERROR internal_error');
    }
    assert.deepEqual(world.changes, []);
  });

  it('is written where nothing can be compared with it', async () => {
    world.isThere = false;
    assert.equal((await made()).stored?.version, 5);
  });

  const others: [what: string, changed: object | null][] = [
    ['is not there any more', null],
    ['lies in the trash', { deleted_at: 1 }],
    ['is no secret', { type: 'key' }],
    ['lies in another vault', { vault_id: newId() }],
  ];
  for (const [what, changed] of others)
    it(`goes nowhere where its secret ${what}`, async () => {
      world.rows = [world.rows[0]!, ...(changed === null ? [] : [{ ...target, ...changed }])];
      assert.equal(await refused(), 'NOT_FOUND not_found');
      assert.deepEqual(world.changes, []);
    });
});

describe('what is used of a vault', () => {
  const looks = () => world.asked.splice(0);

  it('is kept of 500 vaults', async () => {
    const { reader } = world;
    const readers = Array.from({ length: 501 }, () => ({ ...reader, vaultId: newId() }));
    const looksOf = async (one: typeof reader) => {
      world.reader = one;
      await made();
      return looks();
    };
    for (const one of readers.slice(0, 500)) await looksOf(one);
    assert.deepEqual(await looksOf(readers[0]!), []);
    await looksOf(readers[500]!);
    assert.deepEqual(await looksOf(readers[1]!), []);
    assert.deepEqual(await looksOf(readers[0]!), ['vault', 'secret named TOKEN']);
  });

  it('is looked for once, and judged each time', async () => {
    await made();
    assert.deepEqual(looks(), ['vault', 'secret named TOKEN']);
    await made();
    assert.deepEqual(looks(), []);
    world.isSeen = false;
    assert.equal(await refused(), 'NOT_FOUND restricted');
    world.isSeen = true;
    world.hears = false;
    await made();
    assert.deepEqual(looks(), ['vault', 'secret named TOKEN']);
  });

  it('is looked for anew after a change in the vault', async () => {
    await made();
    looks();
    world.rules = [];
    world.listener([vaultId]);
    assert.equal(await refused(), 'FORBIDDEN no_use_rule');
    assert.deepEqual(looks(), ['vault', 'secret named TOKEN']);
  });

  it('is kept up to 8 KiB, and fifty of a vault', async () => {
    const longest = 8 * 1024;
    world.rows = [
      rowOf({ name: 'LONG', value: 'a1'.repeat(longest / 2) }),
      rowOf({ name: 'LONGER', value: `${'a1'.repeat(longest / 2)}b` }),
    ];
    for (const [secret, isKept] of [
      ['LONG', true],
      ['LONGER', false],
    ] as const) {
      await made({ secret });
      looks();
      await made({ secret });
      assert.deepEqual(looks(), isKept ? [] : [`secret named ${secret}`]);
    }
    for (let at = 1; at <= 50; at++) world.rows.push(rowOf({ name: `S${at}` }));
    for (let at = 1; at <= 50; at++) await made({ secret: `S${at}` });
    looks();
    for (const secret of ['LONG', 'S1', 'S49', 'S50']) await made({ secret });
    assert.deepEqual(looks(), ['secret named S50']);
  });

  it('is found by its name alone, however that looks', async () => {
    const id = newId();
    world.rows = [rowOf({ id, name: 'OTHER' }), rowOf({ name: id })];
    await made({ secret: id });
    assert.deepEqual(looks(), ['vault', `secret named ${id}`]);
  });
});
