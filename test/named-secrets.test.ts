/** Secrets by their names: what is there, what is written and what is refused, over rows in memory. The doors are tested in vault-dialect. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { Parts } from '../src/domain/kernel/parts.ts';
import { namedSecretsWith } from '../src/domain/resources/named-secrets.ts';
import type { Records, Revise } from '../src/domain/resources/records.ts';
import type { Secrets } from '../src/domain/resources/secrets.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';
import { refusalOf } from './refusal-of.ts';

const vaultId = '01999999-9999-7999-8999-999999999999';
const now = Date.parse('2026-03-01T12:00:00Z');
const iso = (time: number) => new Date(time).toISOString();
const caller = { id: 'c', organizationId: 'org' } as Caller;
const missing = 'NOT_FOUND: Resource not found';
const unexpected = 'CONFLICT: check-and-set parameter did not match the current version';
const place = (name: string, vault = vaultId) => ({ vaultId: vault, name });
const always = () => true;

const rowOf = (name: string, more: Partial<ResourceRow> = {}): ResourceRow =>
  ({
    id: `id of ${name}`,
    name,
    vault_id: vaultId,
    organization_id: 'org',
    enabled: 1,
    activation_date: null,
    expiration_date: null,
    deleted_at: null,
    content_type: 'a/b',
    attributes: '{}',
    version: 3,
    created_at: now - 9,
    updated_at: now - 1,
    ...more,
  }) as ResourceRow;

/** Stand-ins for the store, the guard, the records and the secrets, which note what is asked of them. */
class World {
  rows = [
    rowOf('ACTIVE'),
    rowOf('DISABLED', { enabled: 0 }),
    rowOf('LATER', { activation_date: now + 1 }),
    rowOf('OVER', { expiration_date: now }),
  ];
  trash = [rowOf('GONE', { deleted_at: now - 5 }), rowOf('ACTIVE', { id: 'earlier', deleted_at: now - 5 })];
  done: unknown[] = [];
  asked: string[] = [];
  refusal: unknown = null;
  failures: unknown[] = [];

  readonly named = namedSecretsWith(
    {
      now: () => now,
      store: {
        resources: {
          byName: async (vault: string, _type: string, name: string) =>
            this.rows.find(row => row.vault_id === vault && row.name === name),
          deletedByName: async (vault: string, _type: string, name: string) =>
            this.trash.find(row => row.vault_id === vault && row.name === name),
          vaultByName: async (_: string, name: string) =>
            name === 'vault' ? { id: vaultId, name } : undefined,
          stretchWithValues: async () => ({ rows: this.rows, text: '' }),
        },
      },
      stamps: {
        resource: {
          believe: (row: ResourceRow) => {
            if (row.name === 'FORGED') throw new Error('not believed');
            return row;
          },
          check: (row: ResourceRow) => row,
        },
      },
      guard: {
        admit: async (_: Caller, action: string) => {
          this.asked.push(action);
          return { caller, action };
        },
        found: async (_: unknown, row: ResourceRow | undefined) => {
          if (this.refusal !== null) throw this.refusal;
          if (row === undefined) throw new Failure('NOT_FOUND');
          return row;
        },
      },
    } as unknown as Parts,
    {
      openVault: async () => ({}),
      labelled: async (row: ResourceRow) => ({ row, labels: { tags: { of: row.name } } }),
      version: async (_: ResourceRow, number: number) =>
        number >= 1 && number <= 3
          ? { version: number, created_at: now - 10 + number, value: 'sealed' }
          : null,
      openValue: (row: ResourceRow) => `value of ${row.name}`,
      restore: async (_: unknown, type: string, id: string) => this.done.push(['restore', type, id]),
      revise: async (_: unknown, _type: string, id: string, change: Revise) => {
        const before = this.rows.find(row => row.id === id)!;
        const changes = await change(before, { sealer: 'sealer' } as never);
        this.done.push(['revise', id, changes]);
        return { row: { ...before, version: before.version + 1, updated_at: now } };
      },
    } as unknown as Records,
    {
      create: async (_: Caller, body: object) => {
        this.done.push(['create', body]);
        const failure = this.failures.shift();
        if (failure !== undefined) throw failure;
        return { version: 1, created_at: iso(now) };
      },
      reveal: async (_: Caller, id: string, version: number) => ({ id, version }),
      versions: async (_: Caller, id: string, page: object) => ({ data: [{ id, ...page }] }),
      update: async (_: Caller, id: string, body: object) => this.done.push(['update', id, body]),
      remove: async (_: Caller, id: string, purge: boolean) => this.done.push(['remove', id, purge]),
    } as unknown as Secrets,
  );
}

describe('a secret is shown by its name', () => {
  const rows: [string, boolean][] = [
    ['ACTIVE', true],
    ['DISABLED', false],
    ['LATER', false],
    ['OVER', false],
    ['GONE', false],
    ['NONE', false],
  ];
  for (const [name, isShown] of rows)
    it(`${isShown ? 'with' : 'not with'} its value and its history: ${name}`, async () => {
      const { named } = new World();
      const expected = isShown ? 'done' : missing;
      assert.equal(await refusalOf(named.reveal(caller, place(name), null)), expected);
      assert.equal(await refusalOf(named.history(caller, place(name))), expected);
    });

  it('as its current version, or the one that is asked for', async () => {
    const { named } = new World();
    for (const [wanted, version] of [
      [null, 3],
      [3, 3],
      [1, 1],
    ] as const)
      assert.deepEqual(await named.reveal(caller, place('ACTIVE'), wanted), {
        id: 'id of ACTIVE',
        version,
        version_created_at: iso(now - 10 + version),
      });
    for (const wrong of [0, 4])
      assert.equal(await refusalOf(named.reveal(caller, place('ACTIVE'), wrong)), missing);
  });

  it('with its tags and the newest thousand of its versions', async () => {
    const { named } = new World();
    assert.deepEqual(await named.history(caller, place('ACTIVE')), {
      created_at: iso(now - 9),
      updated_at: iso(now - 1),
      tags: { of: 'ACTIVE' },
      versions: [{ id: 'id of ACTIVE', page: 1, limit: 1_000 }],
    });
  });

  it('not where the vault is none', async () => {
    const world = new World();
    world.rows.push(rowOf('ACTIVE', { vault_id: 'no id' }));
    assert.equal(await refusalOf(world.named.reveal(caller, place('ACTIVE', 'no id'), null)), missing);
  });

  it('not where it is not believed, in the trash neither', async () => {
    const world = new World();
    world.rows.push(rowOf('FORGED'));
    await assert.rejects(world.named.reveal(caller, place('FORGED'), null), /not believed/);
    world.trash.push(...world.rows.splice(-1));
    await assert.rejects(world.named.deleted(caller, place('FORGED')), /not believed/);
  });

  it('not to callers who are not given it; other refusals and faults stay what they are', async () => {
    const world = new World();
    const revealed = () => refusalOf(world.named.reveal(caller, place('ACTIVE'), null));
    world.refusal = new Failure('NOT_FOUND');
    assert.equal(await revealed(), missing);
    world.refusal = new Failure('FORBIDDEN');
    assert.equal(await revealed(), 'FORBIDDEN: Forbidden');
    world.refusal = Object.assign(new Error('fault'), { code: 'NOT_FOUND' });
    await assert.rejects(revealed(), /fault/);
  });

  it('to those alone who may reveal it', async () => {
    const world = new World();
    await world.named.reveal(caller, place('ACTIVE'), null);
    await world.named.mayReveal(caller, place('DISABLED'));
    assert.deepEqual(world.asked, ['secrets:reveal', 'secrets:reveal']);
    assert.equal(await refusalOf(world.named.mayReveal(caller, place('NONE'))), missing);
  });
});

describe('a secret in the trash is told of', () => {
  it('where its name is free', async () => {
    const { named } = new World();
    assert.deepEqual(await named.deleted(caller, place('GONE')), {
      version: 3,
      version_created_at: iso(now - 7),
      deleted_at: iso(now - 5),
    });
    assert.equal(await named.deleted(caller, place('ACTIVE')), null);
    assert.equal(await named.deleted(caller, place('NONE')), null);
  });
});

describe('a secret is written by its name', () => {
  const content = { content_type: 'c/d', value: 'new' };
  const taken = () => new Failure('CONFLICT', { field: 'name', reason: 'is taken' });
  const write = (world: World, name: string, expected?: number) =>
    world.named.write(caller, place(name), () => content, expected);

  it('as a new one, or as the next version of the one that is there', async () => {
    const world = new World();
    assert.deepEqual(await write(world, 'NEW'), { version: 1, version_created_at: iso(now) });
    assert.deepEqual(await write(world, 'DISABLED'), { version: 4, version_created_at: iso(now) });
    assert.deepEqual(world.done, [
      ['create', { vault_id: vaultId, name: 'NEW', ...content }],
      ['revise', 'id of DISABLED', { contentType: 'c/d', value: 'new' }],
    ]);
  });

  it('knowing what is there', async () => {
    const world = new World();
    const seen: unknown[] = [];
    const next = (before: { content_type: string; value: () => string } | null) => {
      seen.push(before && [before.content_type, before.value()]);
      return content;
    };
    await world.named.write(caller, place('ACTIVE'), next);
    await world.named.write(caller, place('NEW'), next);
    assert.deepEqual(seen, [['a/b', 'value of ACTIVE'], null]);
  });

  const versions: [string, number | undefined, boolean][] = [
    ['NEW', undefined, true],
    ['NEW', 0, true],
    ['NEW', 1, false],
    ['ACTIVE', undefined, true],
    ['ACTIVE', 3, true],
    ['ACTIVE', 0, false],
    ['ACTIVE', 2, false],
    ['ACTIVE', 4, false],
  ];
  for (const [name, expected, isWritten] of versions)
    it(`${isWritten ? '' : 'not '}where version ${expected} is expected of ${name}`, async () => {
      const world = new World();
      assert.equal(await refusalOf(write(world, name, expected)), isWritten ? 'done' : unexpected);
      assert.equal(world.done.length, isWritten ? 1 : 0);
    });

  it('five times where others create and delete the name meanwhile', async () => {
    const world = new World();
    world.failures = Array.from({ length: 4 }, taken);
    assert.deepEqual(await write(world, 'NEW'), { version: 1, version_created_at: iso(now) });
    world.done = [];
    world.failures = Array.from({ length: 9 }, taken);
    assert.equal(await refusalOf(write(world, 'NEW')), 'CONFLICT: name is taken');
    assert.equal(world.done.length, 5);
  });

  for (const [what, failure] of [
    ['another conflict', new Failure('CONFLICT', { field: 'vault_id' })],
    ['another fault of the name', new Failure('INVALID_REQUEST', { field: 'name' })],
    ['what is no refusal', Object.assign(new Error('fault'), { code: 'CONFLICT', field: 'name' })],
  ] as const)
    it(`once where it fails by ${what}`, async () => {
      const world = new World();
      world.failures = [failure];
      await assert.rejects(write(world, 'NEW'), failure);
      assert.equal(world.done.length, 1);
    });
});

describe('a secret is changed by its name', () => {
  it('in its tags, where it is there', async () => {
    const world = new World();
    await world.named.tag(caller, place('DISABLED'), { a: 'b' });
    assert.deepEqual(world.done, [['update', 'id of DISABLED', { tags: { a: 'b' } }]]);
    assert.equal(await refusalOf(world.named.tag(caller, place('NONE'), {})), missing);
  });

  const removals: [string, boolean, ((version: number) => boolean) | undefined, unknown[]][] = [
    ['ACTIVE', false, undefined, [['remove', 'id of ACTIVE', false]]],
    ['ACTIVE', true, undefined, [['remove', 'id of ACTIVE', true]]],
    ['ACTIVE', false, version => version === 3, [['remove', 'id of ACTIVE', false]]],
    ['ACTIVE', false, version => version !== 3, []],
    ['GONE', false, undefined, []],
    ['GONE', true, undefined, [['remove', 'id of GONE', true]]],
    ['GONE', true, () => false, []],
    ['NONE', true, undefined, []],
  ];
  for (const [name, purge, isMeant, expected] of removals)
    it(`in being removed${purge ? ' for good' : ''}: ${name}${isMeant ? `, where ${isMeant}` : ''}`, async () => {
      const world = new World();
      await world.named.remove(caller, place(name), purge, isMeant);
      assert.deepEqual(world.done, expected);
    });

  it('in being restored from the trash, where that version is meant', async () => {
    const world = new World();
    await world.named.restore(caller, place('NONE'), always);
    await world.named.restore(caller, place('GONE'), version => version !== 3);
    assert.deepEqual(world.done, []);
    await world.named.restore(caller, place('GONE'), version => version === 3);
    assert.deepEqual(world.done, [['restore', 'secret', 'id of GONE']]);
  });
});

describe('the names of a vault', () => {
  it('are those of secrets that are active', async () =>
    assert.deepEqual(await new World().named.names(caller, vaultId), ['ACTIVE']));
});

describe('a vault is called by its name', () => {
  it('where there is one', async () => {
    const { named } = new World();
    assert.equal(await named.vaultNamed(caller, 'vault'), vaultId);
    assert.equal(await refusalOf(named.vaultNamed(caller, 'none')), missing);
  });
});
