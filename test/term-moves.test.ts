/** Rotation of the keyring: what is moved to the new term, what is left alone, and which terms are retired. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import { rewrappersWith } from '../src/domain/operations/rewrapping.ts';
import { type Rotation, rotationWith } from '../src/domain/operations/rotation.ts';
import { parentMark, Unsealable } from '../src/keyring/sealing/envelope.ts';
import type { TermHolder } from '../src/store/records/keyring.ts';

const operator = (organization: string) =>
  trustedCaller('operator', 'operator', 'x', organization, 'request');
const termOf = (sealed: string) => Number(sealed.split(' ')[0]);

interface Ring {
  readonly terms: readonly { readonly id: number }[];
  readonly slots: readonly [];
  readonly term: number;
}

interface Change {
  readonly subjects: readonly [{ readonly name: string }];
  readonly statements: readonly unknown[];
}

let names: string[];
let terms: number[];
let behind: Record<TermHolder, string[]>;
let needed: Set<number>;
let rows: Record<string, unknown>;
let told: [verb: string, details: unknown, organizations: string[]][];
let changes: [verb: string, row: Record<string, unknown>][];
let stale: number;
let refreshed: number;
let root: string;
let member: { email: string } | undefined;
let rotation: Rotation;
let rewrappers: ReturnType<typeof rewrappersWith>;

const ringOf = (ids: readonly number[]): Ring => ({
  terms: ids.map(id => ({ id })),
  term: ids.at(-1)!,
  slots: [],
});
const stored = (provider: string, ids: readonly number[]) =>
  Buffer.from(JSON.stringify({ provider, wrapped: JSON.stringify(ids) }));
const open = (bytes: Uint8Array) => JSON.parse(JSON.parse(Buffer.from(bytes).toString()).wrapped) as number[];

function wrapperOf(provider: string) {
  return {
    unwrap: async (bytes: Uint8Array) => {
      const ids = open(bytes);
      return {
        ...ringOf(ids),
        rotate: () => ringOf([...ids, ids.at(-1)! + 1]),
        retire: (retired: readonly number[]) => ringOf(ids.filter(id => !retired.includes(id))),
      };
    },
    wrap: async (ring: Ring) =>
      stored(
        provider,
        ring.terms.map(({ id }) => id),
      ),
    opens: async (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()).provider === provider,
  };
}

beforeEach(() => {
  names = [];
  [terms, behind, needed, rows] = [[1], { vault: [], webhook: [], account: [] }, new Set(), {}];
  [told, changes, stale, refreshed, root, member] = [[], [], 0, 0, 'file', { email: 'a@example.org' }];
  const adopt = (bytes: Uint8Array) => {
    terms = open(bytes);
  };
  const found = async (id: string) => {
    const row = rows[id];
    if (row instanceof Error || (row as { thrown?: boolean })?.thrown) throw row;
    return row;
  };
  const revise = (before: object, columns: object) => ({ ...before, ...columns });
  const stamp = { believe: <T>(row: T) => row, revise };
  const changed = async (verb: string, { subjects, statements }: Change) => {
    if (stale-- > 0) throw new StaleChange();
    names.push(subjects[0].name);
    assert.equal(statements[0], 'keyring is current');
    changes.push([verb, statements[1] as Record<string, unknown>]);
  };
  const parts = {
    now: () => 1,
    keyring: {
      deployment: 'd',
      get term() {
        return terms.at(-1)!;
      },
      adopt: () => {},
      isCurrent: (sealed: string) => termOf(sealed) === terms.at(-1),
      rewrapVaultKey: (_: unknown, sealed: string) =>
        termOf(sealed) === terms.at(-1) ? null : `${terms.at(-1)} ${sealed.split(' ')[1]}`,
      resealForOrganization: (_: string, place: { version: number }, sealed: string) =>
        termOf(sealed) === terms.at(-1) ? null : `${terms.at(-1)} ${sealed.split(' ')[1]} ${place.version}`,
    },
    keyringSync: {
      refresh: async () => {
        refreshed++;
      },
      requireCurrent: async () => 'keyring is current',
      rootKeyProvider: () => root,
    },
    stamps: { resource: stamp, webhook: stamp, account: stamp },
    wrapper: wrapperOf('file'),
    guard: {
      admit: async () => ({}),
      found: async (_: unknown, row: unknown) => row,
      change: (_: unknown, verb: string, change: never) => changed(verb, change),
      own: (_: unknown, verb: string, change: never) => changed(verb, change),
      operate: async (
        operators: readonly { organizationId: string }[],
        verb: string,
        { details, statements }: { details: object; statements: readonly (() => void)[] },
      ) => {
        if (stale-- > 0) throw new StaleChange();
        for (const store of statements) store();
        told.push([verb, details, operators.map(({ organizationId }) => organizationId)]);
      },
    },
    store: {
      organizations: { all: async () => [{ id: 'o' }] },
      resources: { byId: (_: string, id: string) => found(id), update: <T>(row: T) => row },
      webhooks: { byId: (_: string, id: string) => found(id), update: <T>(row: T) => row },
      accounts: { account: found, updateAccount: <T>(row: T) => row, member: async () => member },
      keyring: {
        read: async () => stored(root, terms),
        replace: (_: unknown, after: Uint8Array) => () => {
          adopt(after);
          root = JSON.parse(Buffer.from(after).toString()).provider;
        },
        retire: (_: unknown, after: Uint8Array) => [() => adopt(after)],
        behind: async (holder: TermHolder, _: unknown, after: string | undefined, limit: number) =>
          behind[holder]
            .filter(id => after === undefined || id > after)
            .slice(0, limit)
            .map(id => ({ id, organization_id: 'o' })),
        countBehind: async (holder: TermHolder) => behind[holder].length,
        isNeeded: async (mark: Uint8Array) =>
          [...needed].some(id => Buffer.from(parentMark(id)).equals(mark)),
      },
    },
  };
  rotation = rotationWith(parts as never);
  rewrappers = rewrappersWith(parts as never);
});

const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `r${`${at}`.padStart(3, '0')}`);

describe('a rotation', () => {
  it('starts a term, moves everything to it, and retires what nothing needs', async () => {
    behind.vault = idsOf(2);
    const { term, resumed, moved, damaged, retired, needed: left } = await rotation.run(operator);
    assert.deepEqual([term, resumed, damaged, retired, left], [2, false, [], [1], []]);
    assert.deepEqual(moved, { vault: 2, webhook: 0, account: 0 });
    assert.deepEqual(told, [
      ['keyring.term_started', { term: 2 }, ['', 'o']],
      ['keyring.terms_retired', { terms: [1] }, ['', 'o']],
    ]);
    assert.deepEqual([terms, refreshed], [[2], 2]);
  });

  it('goes on with one that was begun, unless another term is asked for', async () => {
    terms = [1, 2];
    const started: [number, boolean][] = [];
    const onStart = (term: number, resumed: boolean) => void started.push([term, resumed]);
    assert.equal((await rotation.run(operator, { onStart })).resumed, true);
    assert.deepEqual(terms, [2]);
    terms = [1, 2];
    assert.equal((await rotation.run(operator, { newTerm: true, onStart })).resumed, false);
    assert.deepEqual(terms, [3]);
    assert.equal((await rotation.run(operator, { newTerm: false, onStart })).resumed, false);
    assert.deepEqual(started, [
      [2, true],
      [3, false],
      [4, false],
    ]);
  });

  it('is begun once more where another change was faster', async () => {
    stale = 1;
    assert.equal((await rotation.run(operator)).term, 2);
  });

  for (const [count, batches] of [
    [0, []],
    [1, [1]],
    [49, [49]],
    [50, [50]],
    [51, [50, 51]],
  ] as const)
    it(`says after each fifty how many were moved: ${count}`, async () => {
      behind.webhook = idsOf(count);
      const seen: [string, number][] = [];
      const onMoved = (holder: TermHolder, moved: number) => void seen.push([holder, moved]);
      assert.equal((await rotation.run(operator, { onMoved })).moved.webhook, count);
      assert.deepEqual(
        seen,
        batches.map(moved => ['webhook', moved]),
      );
    });

  it('leaves alone what is not as it was written, and keeps its term', async () => {
    behind.vault = ['a', 'b', 'c'];
    rows = { a: new Unsealable(), b: new Failure('INTERNAL_ERROR') };
    needed.add(1);
    const { moved, damaged, retired, needed: left } = await rotation.run(operator);
    assert.deepEqual([moved.vault, damaged, retired, left], [1, ['vault a', 'vault b'], [], [1]]);
    assert.deepEqual([terms, told.length], [[1, 2], 1]);
  });

  it('ends with whatever else fails', async () => {
    behind.vault = ['a'];
    for (const error of [
      new Failure('UNAVAILABLE'),
      Object.assign(new Error('x'), { code: 'INTERNAL_ERROR' }),
    ]) {
      rows = { a: error };
      await assert.rejects(rotation.run(operator), error);
    }
  });

  it('retires the terms that are not needed, and those alone', async () => {
    terms = [1, 2, 3];
    needed.add(2);
    const { retired, needed: left } = await rotation.run(operator);
    assert.deepEqual([retired, left, terms], [[1], [2], [2, 3]]);
  });

  it('is shown as it stands', async () => {
    terms = [1, 2];
    behind.account = ['a'];
    const { terms: shown, behind: left, rootKeyProvider } = await rotation.state();
    assert.deepEqual(
      [shown.map(({ id }) => id), left, rootKeyProvider],
      [[1, 2], { vault: 0, webhook: 0, account: 1 }, 'file'],
    );
  });

  it('of the root key wraps the same keyring by another one, which is not the one in use', async () => {
    const same = 'the new root key is already in use';
    await assert.rejects(
      rotation.changeRootKey(operator, () => wrapperOf('file') as never),
      { message: same },
    );
    await rotation.changeRootKey(operator, () => wrapperOf('kms') as never);
    assert.deepEqual([root, terms], ['kms', [1]]);
    assert.deepEqual(told, [['keyring.root_key_changed', { provider: 'kms' }, ['', 'o']]]);
  });
});

describe('a row that is moved', () => {
  const by = operator('o');
  beforeEach(() => {
    terms = [1, 2];
  });

  it('is left alone where it is gone', async () => {
    for (const holder of ['vault', 'webhook', 'account'] as const) await rewrappers[holder](by, 'gone');
    assert.deepEqual(changes, []);
  });

  it('is a vault whose key is under an older term', async () => {
    rows = { v: { id: 'v', type: 'vault', organization_id: 'o', vault_key: '1 key' } };
    await rewrappers.vault(by, 'v');
    assert.deepEqual(
      changes.map(([verb, row]) => [verb, row.vault_key]),
      [['vault.key_rewrapped', '2 key']],
    );
    rows = { v: { id: 'v', type: 'vault', organization_id: 'o', vault_key: '2 key' } };
    await rewrappers.vault(by, 'v');
    assert.equal(changes.length, 1);
  });

  const secrets: [secret: string, previous: string | null, moved: unknown[] | null][] = [
    ['1 a', null, ['2 a 5', null]],
    ['1 a', '1 b', ['2 a 5', '2 b 4']],
    ['2 a', '1 b', ['2 a', '2 b 4']],
    ['1 a', '2 b', ['2 a 5', '2 b']],
    ['2 a', '2 b', null],
    ['2 a', null, null],
  ];
  for (const [secret, previous, moved] of secrets)
    it(`is a webhook with the secrets ${secret} and ${previous}`, async () => {
      rows = { w: { id: 'w', organization_id: 'o', secret, previous_secret: previous, secret_version: 5 } };
      await rewrappers.webhook(by, 'w');
      assert.deepEqual(
        changes.map(([verb, row]) => [verb, row.secret, row.previous_secret]),
        moved === null ? [] : [['webhook.secret_rewrapped', ...moved]],
      );
    });

  const seeds: [totp: string | null, pending: string | null, terms: (number | null)[] | null][] = [
    ['1 a', null, [2, null]],
    [null, '1 b', [null, 2]],
    ['2 a', '1 b', [2, 2]],
    ['2 a', null, null],
    [null, null, null],
  ];
  const termsOf = (...sealed: readonly unknown[]) =>
    sealed.map(one => (typeof one === 'string' ? termOf(one) : null));
  for (const [totp, pending, moved] of seeds)
    it(`is an account with the seeds ${totp} and ${pending}`, async () => {
      rows = { a: { id: 'a', organization_id: 'o', member_id: 'm', totp, totp_pending: pending } };
      await rewrappers.account(by, 'a');
      const found = changes.map(([verb, row]) => [verb, ...termsOf(row.totp, row.totp_pending)]);
      assert.deepEqual(found, moved === null ? [] : [['account.codes_rewrapped', ...moved]]);
    });

  it('is an account, also without its member', async () => {
    member = undefined;
    rows = { a: { id: 'a', organization_id: 'o', member_id: 'm', totp: '1 a', totp_pending: null } };
    await rewrappers.account(by, 'a');
    assert.deepEqual([changes.length, names.at(-1)], [1, '']);
  });
});
