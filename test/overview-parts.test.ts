/** Which parts of the overview are for whom, and what they are made of. The store is a stand-in. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { type Action, grantOfRole } from '../src/access/policy.ts';
import { Failure } from '../src/contract/errors.ts';
import { type Overviews, overviewsWith } from '../src/domain/operations/overview.ts';
import { type Asking, asking, takes } from './asking.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = 1_000 * hour + 5;
const callerWith = (scopes: Action[] | null, vaultIds: string[] | null = null, organizationId = 'o') =>
  ({ ...grantOfRole('owner'), scopes, vaultIds, organizationId }) as unknown as Caller;
const owner = callerWith(null);

let asked: unknown[][];
let busy: { subject: string; successes: number; failures: number }[];
let rows: Record<
  string,
  { name: string; organization_id: string; vault_id: string | null; isForged?: boolean }
>;
let expiring: { id: string; name: string; expiration_date: number }[];
let replication: object | undefined;
let byHour: { hour: number; successes?: number; failures?: number }[];
const guard = { admit: async (caller: Caller) => ({ caller }) };
let overviews: Asking<Overviews, typeof takes.overviews>;

beforeEach(() => {
  [asked, busy, rows, expiring, replication, byHour] = [[], [], {}, [], undefined, []];
  const note =
    (what: string, answer: () => unknown) =>
    async (...given: unknown[]) => {
      asked.push([what, ...given]);
      return answer();
    };
  const believe = <T extends { isForged?: boolean }>(row: T) => {
    if (row.isForged) throw new Failure('INTERNAL_ERROR');
    return row;
  };
  const resource = { type: 'secret', vault_id: 'v' };
  const parts = {
    now: () => now,
    keyring: { term: 2, terms: [{ started: 1 }, { started: 2_000 }], deployment: 'd', logPublicKey: 'key' },
    keyringSync: { refresh: async () => {}, rootKeyProvider: () => 'file' },
    stamps: { resource: { believe }, credential: { believe } },
    organizations: { get: async () => ({ plan: 'pro', rate_limit: 7 }) },
    ledger: { writeHourCounts: note('written', () => undefined) },
    facts: { version: '1', logRetentionDays: 1, auditRetentionDays: 2, backups: () => null },
    store: {
      engine: 'sqlite',
      get server() {
        return replication === undefined ? undefined : { replication: async () => replication };
      },
      resources: {
        byId: async (organization: string, id: string) => (organization === 'o' ? rows[id] : undefined),
      },
      credentials: { byId: async (id: string) => rows[id] },
      keyring: { vaultsBehind: note('vaults behind', () => 3) },
      limits: { taken: note('used', () => 9) },
      overview: {
        byHour: note('by hour', () => byHour),
        busiest: note('busiest', () => busy),
        mostFailures: note('failures', () => [{ subject: '192.0.2.1', failures: 4 }]),
        expiringResources: note('expiring', () => expiring.map(one => ({ ...resource, ...one }))),
        expiringCredentials: note('expiring credentials', () => [
          { id: 'c', name: 'C', kind: 'api-key', vault_id: null, expiration_date: 15 },
        ]),
        unusedSince: note('unused', () => [
          { id: 'u', name: 'U', kind: 'access-key', vault_id: 'v', last_used_at: null },
        ]),
        livingCounts: note('counts', () => new Map([['secret', 5]])),
        webhookHealth: note('webhooks', () => ({ total: 1, failing: 0, disabled: 0 })),
      },
    },
  };
  overviews = asking(guard as never, overviewsWith(parts as never), takes.overviews);
});

const askedFor = (what: string) => asked.filter(([one]) => one === what).map(([, ...given]) => given);
const overview = (caller = owner) => overviews.overview(caller);

describe('requests in the overview', () => {
  const from = 1_000 * hour - 23 * hour;

  it('are those of the last 24 hours, also where there were none', async () => {
    byHour = [
      { hour: from, successes: 3 },
      { hour: 1_000 * hour, successes: 1, failures: 2 },
    ];
    const { reads, failed_addresses } = await overview();
    assert.deepEqual([reads.length, askedFor('written').length], [24, 1]);
    assert.deepEqual(reads[0], { at: new Date(from).toISOString(), success: 3, failure: 0 });
    assert.deepEqual(reads[1], { at: new Date(from + hour).toISOString(), success: 0, failure: 0 });
    assert.deepEqual(reads[23], { at: new Date(1_000 * hour).toISOString(), success: 1, failure: 2 });
    assert.deepEqual(failed_addresses, [{ ip_address: '192.0.2.1', failures: 4 }]);
    assert.deepEqual(askedFor('by hour'), [[{ organizationId: 'o', from, kind: 'all' }]]);
    assert.deepEqual(
      askedFor('busiest').map(([filter, most]) => [(filter as { kind: string }).kind, most]),
      [
        ['vault', 10],
        ['access-key', 10],
      ],
    );
    assert.equal(askedFor('failures')[0]![1], 10);
    byHour = [{ hour: from, failures: 3 }];
    assert.equal((await overview()).reads[0]!.success, 0);
  });

  it('are those of single vaults for those who are given some', async () => {
    busy = [{ subject: 'v', successes: 1, failures: 2 }];
    const { busiest_vaults, busiest_keys, failed_addresses } = await overview(callerWith(null, ['v']));
    assert.deepEqual([busiest_vaults.length, busiest_keys, failed_addresses], [1, [], []]);
    assert.deepEqual(askedFor('by hour'), [[{ organizationId: 'o', from, kind: 'vault', subjects: ['v'] }]]);
  });

  it('are for those who may read logs', async () => {
    const { reads, busiest_vaults, busiest_keys, failed_addresses } = await overview(
      callerWith(['vaults:read']),
    );
    assert.deepEqual([reads, busiest_vaults, busiest_keys, failed_addresses], [[], [], [], []]);
    assert.deepEqual(askedFor('written'), []);
  });

  const names: [what: string, row: object | undefined, caller: Caller, vault: string, key: string][] = [
    ['of what is there', { organization_id: 'o', vault_id: null }, owner, 'N', 'N'],
    ['of what is gone', undefined, owner, '', ''],
    ['of another organization', { organization_id: 'p', vault_id: null }, owner, '', ''],
    [
      'of what one may not see',
      { organization_id: 'o', vault_id: null },
      callerWith(['logs:read', 'vaults:read']),
      'N',
      '',
    ],
    [
      'of what one may not see either',
      { organization_id: 'o', vault_id: null },
      callerWith(['logs:read', 'access-keys:read']),
      '',
      'N',
    ],
  ];
  for (const [what, row, caller, vault, key] of names)
    it(`are told by the names ${what}`, async () => {
      busy = [{ subject: 'x', successes: 1, failures: 2 }];
      if (row !== undefined) rows = { x: { name: 'N', ...row } as never };
      const { busiest_vaults, busiest_keys } = await overview(caller);
      assert.deepEqual(busiest_vaults, [{ id: 'x', name: vault, reads: 3 }]);
      assert.deepEqual(busiest_keys, [{ id: 'x', name: key, reads: 3 }]);
    });

  it('are told by names that are seen in their vault alone', async () => {
    busy = [{ subject: 'x', successes: 1, failures: 0 }];
    rows = { x: { name: 'N', organization_id: 'o', vault_id: 'other' } };
    const caller = callerWith(null, ['v']);
    assert.equal((await overview(caller)).busiest_vaults[0]!.name, '');
    rows = { x: { name: 'N', organization_id: 'o', vault_id: 'v' } };
    assert.equal((await overview(caller)).busiest_vaults[0]!.name, 'N');
  });

  it('are told by no name that is not as it was written', async () => {
    busy = [{ subject: 'x', successes: 1, failures: 0 }];
    rows = { x: { name: 'N', organization_id: 'o', vault_id: null, isForged: true } };
    await assert.rejects(overview(callerWith(['logs:read', 'vaults:read'])), { code: 'INTERNAL_ERROR' });
    await assert.rejects(overview(callerWith(['logs:read', 'access-keys:read'])), { code: 'INTERNAL_ERROR' });
    const { busiest_vaults } = await overview(callerWith(['logs:read']));
    assert.equal(busiest_vaults[0]!.name, '', 'whoever sees no names is not kept from the rest');
  });
});

describe('what expires', () => {
  it('is told for 90 days, the first fifty, whatever it is', async () => {
    expiring = Array.from({ length: 30 }, (_, at) => ({ id: `s${at}`, name: 'S', expiration_date: at }));
    const { expiring: found, unused_keys } = await overview();
    assert.deepEqual(
      found.slice(14, 18).map(({ id }) => id),
      ['s14', 's15', 'c', 's16'],
    );
    const period = { from: now, to: now + 90 * day };
    assert.deepEqual(askedFor('expiring'), [['o', ['secret', 'key', 'certificate'], null, period, 50]]);
    assert.deepEqual(askedFor('expiring credentials'), [['o', ['api-key', 'access-key'], period, 50]]);
    assert.deepEqual(askedFor('unused'), [['o', ['api-key', 'access-key'], now - 90 * day, 50]]);
    assert.deepEqual(unused_keys, [
      { id: 'u', type: 'access-key', name: 'U', vault_id: 'v', last_used_at: null },
    ]);
    expiring = Array.from({ length: 60 }, (_, at) => ({ id: `s${at}`, name: 'S', expiration_date: at }));
    assert.equal((await overview()).expiring.length, 50);
  });

  it('is told to those who may see it', async () => {
    await overview(callerWith(['secrets:read', 'access-keys:read']));
    assert.deepEqual(askedFor('expiring')[0]!.slice(0, 3), ['o', ['secret'], null]);
    assert.deepEqual(askedFor('expiring credentials')[0]!.slice(0, 2), ['o', ['access-key']]);
    asked = [];
    const { expiring: found, unused_keys } = await overview(callerWith([]));
    assert.deepEqual([found, unused_keys], [[], []]);
    assert.deepEqual(
      [askedFor('expiring'), askedFor('expiring credentials'), askedFor('unused')],
      [[], [], []],
    );
    await overview(callerWith(null, ['v']));
    assert.deepEqual(askedFor('expiring')[0]!.slice(0, 3), ['o', ['secret', 'key', 'certificate'], ['v']]);
    assert.deepEqual(askedFor('unused'), [], 'credentials belong to no vault in general');
  });
});

describe('figures of the organization', () => {
  it('are for those who may see what is counted', async () => {
    const { counts, plan, webhooks } = await overview();
    assert.deepEqual(counts, { vaults: 0, secrets: 5, keys: 0, certificates: 0 });
    assert.deepEqual(plan, { name: 'pro', limit: 7, used: 9 });
    assert.equal(webhooks.total, 1);
    const other = await overview(callerWith(['keys:read']));
    assert.deepEqual(other.counts, { vaults: 0, secrets: 0, keys: 0, certificates: 0 });
    assert.deepEqual(other.plan, { name: 'pro', limit: 7, used: null });
    assert.equal(other.webhooks.total, 0);
    assert.equal(askedFor('webhooks').length, 1);
  });

  it('say how many vaults are behind, and how the database is replicated', async () => {
    const {
      vault_keys_on_older_terms,
      replication: none,
      keyring_term,
      keyring_rotated_at,
    } = await overviews.about(owner);
    assert.deepEqual([vault_keys_on_older_terms, none, keyring_term], [3, null, 2]);
    assert.equal(keyring_rotated_at, new Date(2_000).toISOString());
    replication = { standbys: [] };
    const about = await overviews.about(callerWith(['keys:read']));
    assert.deepEqual([about.vault_keys_on_older_terms, about.replication], [0, replication]);
  });
});
