/** Who may say where a value goes, and what is asked of the store for it. The store and the guard are stand-ins. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import type { Egress } from '../src/access/egress.ts';
import { Failure } from '../src/contract/errors.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import { rulesForUseWith, type UseRules } from '../src/domain/uses/use-rules.ts';
import type { UseRuleRow } from '../src/store/records/use-rules.ts';
import { type Asking, asking, takes } from './asking.ts';
import { newId, organizationId, rowOf, vaultId } from './bare-uses.ts';

const proof = { rows: [{ table: 'members', id: 'member', revision: 1 }], until: null };
const caller = { id: 'caller', kind: 'api-key', organizationId, proof } as unknown as Caller;
const query = { page: 1, limit: 10 };
const given = {
  name: 'Rule',
  hosts: ['api.example.com'],
  methods: ['GET'],
  paths: ['/**'],
  place: { type: 'bearer' },
};

interface Change {
  readonly subjects: readonly [{ readonly lasts: unknown }];
  readonly statements: readonly [{ readonly what: string; readonly store: () => void }];
  readonly touches: readonly string[];
}

describe('use rules', () => {
  let secret: ReturnType<typeof rowOf>;
  let key: ReturnType<typeof rowOf>;
  let target: ReturnType<typeof rowOf>;
  let rows: UseRuleRow[];
  let refusedIn: string | null;
  /** May not be shown, confirmed or written. */
  let refused: Set<string>;
  let stale: number;
  let vaults: readonly string[] | null;
  let filters: Record<string, unknown>[];
  let changes: { verb: string; lasts: unknown; statement: string; touches: readonly string[] }[];
  let shown: string[];
  let rules: Asking<UseRules, typeof takes.useRules>;
  beforeEach(() => {
    [secret, target] = [rowOf(), rowOf({ name: 'TARGET' })];
    key = rowOf({ type: 'key' });
    [rows, filters, changes, shown] = [[], [], [], []];
    [refusedIn, refused, stale, vaults] = [null, new Set(), 0, null];
    const refuse = (what: string) => {
      if (refused.has(what)) throw new Failure('FORBIDDEN');
    };
    const parts = {
      now: () => 5,
      newId,
      stamps: {
        useRule: {
          believe: <T>(row: T) => row,
          create: (now: number, row: object) => ({ ...row, created_at: now, updated_at: now, revision: 1 }),
          revise: (before: UseRuleRow, changed: object, time: number) => ({
            ...before,
            ...changed,
            updated_at: time,
            revision: before.revision + 1,
          }),
        },
      },
      guard: {
        admit: async (by: Caller, action: string) => {
          refuse(action);
          return { caller: by, action, vaults };
        },
        found: async (_: unknown, row: unknown) => {
          if (row === undefined) throw new Failure('NOT_FOUND');
          return row;
        },
        mayShow: async (_: Caller, actions: readonly string[], inVaults: readonly string[]) => {
          shown.push(`${actions} ${inVaults}`);
          refuse('shown');
        },
        confirm: async () => refuse('confirmed'),
        change: async (_: unknown, verb: string, { subjects, statements, touches }: Change) => {
          if (stale-- > 0) throw new StaleChange();
          const [{ what, store }] = statements;
          store();
          changes.push({ verb, lasts: subjects[0].lasts, statement: what, touches });
        },
      },
      store: {
        useRules: {
          byId: async (_: string, id: string) => rows.find(row => row.id === id),
          ofResource: async (id: string) => rows.filter(row => row.resource_id === id),
          page: async (filter: Record<string, unknown>) => {
            filters.push(filter);
            return { rows, total: rows.length };
          },
          insert: (row: UseRuleRow) => ({ what: 'insert', store: () => rows.push(row) }),
          update: (row: UseRuleRow) => ({
            what: 'update',
            store: () => {
              rows = rows.map(one => (one.id === row.id ? row : one));
            },
          }),
          remove: (_: string, revision: number) => ({ what: `remove ${revision}`, store: () => {} }),
        },
      },
    };
    const records = {
      find: async (permit: { action: string }, type: string, id: string) => {
        if (permit.action === refusedIn) throw new Failure('FORBIDDEN');
        const found = [secret, key, target].find(row => row.id === id && row.type === type);
        if (found === undefined) throw new Failure('NOT_FOUND');
        return found;
      },
    };
    const egress: Pick<Egress, 'refusalOf'> = { refusalOf: () => null };
    const own = rulesForUseWith(parts as never, records as never, egress as never);
    rules = asking(parts.guard as never, own, takes.useRules);
  });

  const create = (said: object = {}) =>
    rules.create(caller, { secret_id: secret.id, ...given, ...said } as never);
  const createOfKey = (said: object = {}) =>
    rules.create(caller, {
      key_id: key.id,
      name: 'Rule',
      operations: ['sign'],
      algorithms: ['ES256'],
      ...said,
    } as never);

  it('are made by those who may read what they are about', async () => {
    const { id, secret_id, key_id, name } = await create();
    assert.deepEqual([secret_id, key_id, name], [secret.id, null, 'Rule']);
    assert.deepEqual(shown, [`secrets:reveal ${vaultId}`]);
    assert.deepEqual(changes, [
      { verb: 'use-rule.created', lasts: 'without end', statement: 'insert', touches: [vaultId] },
    ]);
    assert.equal(rows[0]!.name_search, 'rule');
    assert.equal(rows[0]!.id, id);
    const ofKey = await createOfKey();
    assert.deepEqual([ofKey.secret_id, ofKey.key_id, shown[1]], [null, key.id, `keys:reveal ${vaultId}`]);
  });

  it('are not made or changed by those who may not', async () => {
    const { id } = await create();
    refused.add('shown');
    changes = [];
    await assert.rejects(create(), { code: 'FORBIDDEN' });
    await assert.rejects(rules.update(caller, id, { name: 'other' } as never), { code: 'FORBIDDEN' });
    assert.deepEqual(changes, []);
  });

  it('are about a secret or a key that is there', async () => {
    for (const [field, said, reason] of [
      ['secret_id', { secret_id: key.id }, 'is not the id of a secret'],
      ['secret_id', { secret_id: newId() }, 'is not the id of a secret'],
    ] as const)
      await assert.rejects(create(said), { code: 'NOT_FOUND', field, reason });
    await assert.rejects(createOfKey({ key_id: secret.id }), {
      code: 'NOT_FOUND',
      field: 'key_id',
      reason: 'is not the id of a key',
    });
  });

  it('must be sound', async () => {
    await assert.rejects(create({ response: 'store' }), { code: 'INVALID_REQUEST' });
    const { id } = await create();
    await assert.rejects(rules.update(caller, id, { response: 'store' } as never), {
      code: 'INVALID_REQUEST',
    });
    assert.equal(changes.length, 1);
  });

  describe('that store a field of the answer', () => {
    const storing = (said: object = {}) =>
      create({ response: 'store', store: { secret_id: target.id, pointer: '/t', ...said } });

    it('do so in a secret of the same vault, which the caller may write', async () => {
      await storing();
      target = { ...target, vault_id: newId() };
      const missing = { code: 'NOT_FOUND', field: 'store', reason: 'is not the id of a secret' };
      await assert.rejects(storing(), missing);
      await assert.rejects(storing({ secret_id: newId() }), missing);
      refusedIn = 'secrets:write';
      await assert.rejects(storing(), { code: 'FORBIDDEN' });
      refused.add('secrets:write');
      await assert.rejects(storing(), { code: 'FORBIDDEN' });
      await create();
      assert.equal(changes.length, 2);
    });
  });

  it('are fifty of a secret at most', async () => {
    for (let count = 0; count < 50; count++) await create();
    await assert.rejects(create(), {
      code: 'CONFLICT',
      message: 'A secret can have at most 50 use rules; delete some first',
    });
    assert.equal(rows.length, 50);
    await createOfKey();
  });

  it('are changed, which gives something anew where what they decide is changed', async () => {
    const { id } = await create();
    changes = [];
    assert.equal((await rules.update(caller, id, { name: 'Other' } as never)).name, 'Other');
    stale = 1;
    const { name, methods } = await rules.update(caller, id, { methods: ['POST'] } as never);
    assert.deepEqual([name, methods], ['Other', ['POST']]);
    assert.deepEqual(
      changes.map(({ verb, lasts }) => [verb, lasts]),
      [
        ['use-rule.updated', 'as before'],
        ['use-rule.updated', 'without end'],
      ],
    );
    await assert.rejects(rules.update(caller, newId(), {} as never), { code: 'NOT_FOUND' });
  });

  it('are removed as they were found', async () => {
    const { id } = await create();
    await rules.remove(caller, id);
    assert.deepEqual(changes[1], {
      verb: 'use-rule.deleted',
      lasts: 'as before',
      statement: 'remove 1',
      touches: [vaultId],
    });
  });

  it('are listed for those who are given their vault, by what is asked for', async () => {
    const { id } = await create();
    assert.equal((await rules.get(caller, id)).id, id);
    assert.equal((await rules.list(caller, query as never)).data[0]!.id, id);
    await rules.list(caller, { ...query, secret_id: secret.id } as never);
    await rules.list(caller, { ...query, key_id: key.id } as never);
    vaults = [vaultId];
    await rules.list(caller, query as never);
    assert.deepEqual(
      filters.map(({ resourceId, vaultIds }) => [resourceId, vaultIds]),
      [
        [undefined, undefined],
        [secret.id, undefined],
        [key.id, undefined],
        [undefined, [vaultId]],
      ],
    );
    vaults = [];
    assert.deepEqual(await rules.list(caller, query as never), {
      data: [],
      pagination: { total: 0, page: 1, limit: 10 },
    });
    assert.equal(filters.length, 4);
  });

  describe('that are only asked', () => {
    const check = (said: object = {}) =>
      rules.check(caller, { secret_id: secret.id, url: 'https://api.example.com/x', ...said } as never);

    it('say which of them allows a call', async () => {
      const first = await create({ methods: ['POST'] });
      const second = await create();
      assert.deepEqual([(await check()).allowed, (await check()).rule], [true, second.id]);
      assert.equal((await check({ rule: second.id })).allowed, true);
      const { allowed, refusals } = await check({ rule: first.id });
      assert.deepEqual([allowed, refusals.map(({ rule }) => rule)], [false, [first.id]]);
    });

    it('say it to those alone who may write them, now, of a secret that is there', async () => {
      await create();
      refused.add('confirmed');
      await assert.rejects(check(), { code: 'FORBIDDEN' });
      await assert.rejects(check({ secret_id: key.id }), {
        code: 'NOT_FOUND',
        field: 'secret_id',
        reason: 'is not the id of a secret',
      });
    });
  });
});
