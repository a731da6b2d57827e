/** Finding resources, their versions and their vaults: the decisions by themselves, over rows in memory. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import type { MixedQuery, ResourceType } from '../src/contract/resources.ts';
import type { Parts } from '../src/domain/kernel/parts.ts';
import type { Permit } from '../src/domain/kernel/permits.ts';
import { lookupWith } from '../src/domain/resources/lookup.ts';
import type { Sealing } from '../src/domain/resources/sealing.ts';
import type { ResourceFilter, ResourceRow, VersionRow } from '../src/store/records/resources.ts';
import { refusalOf } from './refusal-of.ts';

const missing = 'NOT_FOUND: Resource not found';
const noVault = 'NOT_FOUND: vault_id is not the id of a vault';

const rowOf = (id: string, type: ResourceType, more: Partial<ResourceRow> = {}): ResourceRow =>
  ({
    id,
    type,
    name: id,
    organization_id: 'org',
    vault_id: type === 'vault' ? id : 'v',
    version: 3,
    deleted_at: null,
    labels: null,
    ...more,
  }) as ResourceRow;

/** Stand-ins for the store, the stamps, the guard and the keys; an open vault is told by its row. */
class World {
  rows = [
    rowOf('v', 'vault'),
    rowOf('gone', 'vault', { deleted_at: 5 }),
    rowOf('s', 'secret'),
    rowOf('k', 'key'),
    rowOf('d', 'secret', { deleted_at: 5 }),
  ];
  versions: VersionRow[] = [];
  values = new Map<string, object>();
  pageRows: ResourceRow[] = [];
  filters: ResourceFilter[] = [];
  read = 0;
  opened = 0;
  refusal: Failure | null = null;
  heard: (touched: string[]) => void = () => {};
  /** As an earlier form of it is read. */
  checked = (row: ResourceRow) => row;

  readonly lookup = lookupWith(
    {
      now: () => 77,
      store: {
        onChange: (hear: (touched: string[]) => void) => {
          this.heard = hear;
        },
        hearsChanges: () => true,
        resources: {
          byId: async (organizationId: string, id: string) => {
            this.read++;
            return this.rows.find(row => row.id === id && row.organization_id === organizationId);
          },
          version: async (id: string, number: number) =>
            this.versions.find(one => one.resource_id === id && one.version === number),
          withValue: async (_: string, id: string) => this.values.get(id),
          page: async (filter: ResourceFilter) => {
            this.filters.push(filter);
            return { rows: this.pageRows, total: 9, text: JSON.stringify(this.pageRows) };
          },
        },
      },
      stamps: {
        resource: {
          believe: (row: ResourceRow) => ({ ...row, believed: true }),
          check: (row: ResourceRow) => this.checked(row),
        },
        believeVersion: (row: VersionRow) => ({ ...row, believed: true }),
      },
      guard: {
        found: async (_: Permit, row: ResourceRow | undefined) => {
          if (this.refusal !== null) throw this.refusal;
          if (row === undefined) throw new Failure('NOT_FOUND');
          return row;
        },
      },
    } as unknown as Parts,
    {
      openVaultRow: async (row: ResourceRow) => {
        this.opened++;
        return { row, sealer: row.id };
      },
      openLabels: (row: ResourceRow, sealer: unknown) => ({
        tags: { opened: String(sealer) },
        description: row.id,
      }),
      openValue: (...given: unknown[]) => JSON.stringify(given.slice(1)),
      tagIndex: (...given: string[]) => given.join('|'),
    } as unknown as Sealing,
  );

  permit(vaults: string[] | null = null, organizationId = 'org'): Permit {
    return { caller: { organizationId }, action: 'secrets:read', vaults } as unknown as Permit;
  }
}

describe('a resource is found', () => {
  const rows: [string, ResourceType | null, boolean | null | undefined, boolean][] = [
    ['s', 'secret', undefined, true],
    ['s', 'secret', false, true],
    ['s', 'secret', true, false],
    ['s', 'secret', null, true],
    ['s', 'key', undefined, false],
    ['s', null, undefined, true],
    ['s', null, true, false],
    ['k', 'key', undefined, true],
    ['d', 'secret', undefined, false],
    ['d', 'secret', true, true],
    ['d', 'secret', null, true],
    ['d', 'key', true, false],
    ['d', 'key', null, false],
    ['d', null, null, true],
    ['d', null, false, false],
    ['nothing', 'secret', undefined, false],
    ['nothing', null, null, false],
  ];
  for (const [id, type, deleted, isFound] of rows)
    it(`${isFound ? '' : 'not '}as ${type} by ${id}, in the trash: ${deleted}`, async () => {
      const { lookup, permit } = new World();
      const found = lookup.find(permit(), type, id, deleted as boolean | null);
      if (isFound) assert.deepEqual([(await found).id, 'believed' in (await found)], [id, true]);
      else assert.equal(await refusalOf(found), missing);
    });
});

describe('vaults that a body names', () => {
  it('are found, or the field is at fault', async () => {
    const { lookup, permit } = new World();
    await lookup.checkVaults(permit(), ['v', 'v']);
    for (const id of ['s', 'gone', 'nothing'])
      assert.equal(
        await refusalOf(lookup.checkVaults(permit(), ['v', id])),
        'NOT_FOUND: vault_ids is not the id of a vault',
      );
  });

  it('are not found fault with where the store fails', async () => {
    const world = new World();
    world.refusal = new Failure('UNAVAILABLE');
    await assert.rejects(world.lookup.checkVaults(world.permit(), ['v']), { code: 'UNAVAILABLE' });
  });
});

describe('the current value', () => {
  it('is believed, and decrypted once it is called', async () => {
    const { lookup, values } = new World();
    values.set('s', { value: 'sealed' });
    const open = await lookup.currentValue(rowOf('s', 'secret'));
    assert.equal(open(), '["v","sealed"]');
  });

  it('is not found where the resource is purged meanwhile', async () => {
    assert.equal(await refusalOf(new World().lookup.currentValue(rowOf('s', 'secret'))), missing);
  });
});

describe('a vault is opened', () => {
  it('where a body names one, and read once', async () => {
    const world = new World();
    for (let count = 0; count < 3; count++)
      assert.equal((await world.lookup.openVault(world.permit(), 'v')).row.id, 'v');
    assert.deepEqual([world.read, world.opened], [1, 1]);
    await world.lookup.reopenVault(world.permit(), 'v');
    assert.deepEqual([world.read, world.opened], [2, 2], 'and again where it may have changed');
    world.heard(['v']);
    await world.lookup.openVault(world.permit(), 'v');
    assert.equal(world.read, 3);
  });

  it('from memory for the last thousand', async () => {
    const world = new World();
    const ids = Array.from({ length: 1_001 }, (_, at) => `vault ${at}`);
    world.rows = ids.map(id => rowOf(id, 'vault'));
    for (const id of ids.slice(0, 1_000)) await world.lookup.openVault(world.permit(), id);
    await world.lookup.openVault(world.permit(), ids[0]!);
    assert.equal(world.read, 1_000);
    await world.lookup.openVault(world.permit(), ids[1_000]!);
    await world.lookup.openVault(world.permit(), ids[0]!);
    assert.equal(world.read, 1_002, 'one more, and the first is read again');
  });

  for (const id of ['nothing', 's', 'gone'])
    it(`not where a body names ${id}`, async () => {
      const world = new World();
      assert.equal(await refusalOf(world.lookup.openVault(world.permit(), id)), noVault);
      assert.equal(world.opened, 0);
    });

  it('not for another organization, although it is kept', async () => {
    const world = new World();
    await world.lookup.openVault(world.permit(), 'v');
    assert.equal(await refusalOf(world.lookup.openVault(world.permit(null, 'other'), 'v')), noVault);
    assert.equal(world.read, 2, 'which is looked for like any that never was');
  });

  it('not where the guard does not find it, and refuses as the guard does otherwise', async () => {
    const world = new World();
    world.refusal = new Failure('NOT_FOUND');
    assert.equal(await refusalOf(world.lookup.openVault(world.permit(), 'v')), noVault);
    world.refusal = new Failure('FORBIDDEN');
    assert.equal(await refusalOf(world.lookup.openVault(world.permit(), 'v')), 'FORBIDDEN: Forbidden');
  });

  it('for what is in it, and is its own', async () => {
    const { lookup } = new World();
    assert.equal((await lookup.vaultOf(rowOf('s', 'secret'))).row.id, 'v');
    const deleted = rowOf('gone', 'vault', { deleted_at: 5 });
    assert.equal((await lookup.vaultOf(deleted)).row, deleted, 'also in the trash');
    assert.equal(await refusalOf(lookup.vaultOf(rowOf('s', 'secret', { vault_id: 'gone' }))), missing);
  });
});

describe('a version', () => {
  const due = rowOf('s', 'secret');
  it('is believed where it is there', async () => {
    const world = new World();
    world.versions = [{ resource_id: 's', version: 2 } as VersionRow];
    assert.deepEqual(await world.lookup.version(due, 2), { resource_id: 's', version: 2, believed: true });
  });

  for (const number of [0, -1, 4])
    it(`is none with the number ${number}, of three`, async () =>
      assert.equal(await new World().lookup.version(due, number), null));

  for (const number of [1, 2, 3])
    it(`is missed with the number ${number}, of three`, async () =>
      assert.match(await refusalOf(new World().lookup.version(due, number)), /^INTERNAL_ERROR/));

  it('is none where its resource is gone meanwhile', async () =>
    assert.equal(await new World().lookup.version(rowOf('purged', 'secret'), 2), null));
});

describe('labels', () => {
  const labelled = (id: string, vault_id = 'v') =>
    rowOf(id, 'secret', { labels: Buffer.from('x') as never, vault_id });
  const query = { page: 1, limit: 10 } as MixedQuery;

  it('are opened where there are some', async () => {
    const { lookup } = new World();
    const none = { tags: {}, description: '' };
    assert.deepEqual((await lookup.labelled(rowOf('s', 'secret'))).labels, none);
    const { labels } = await lookup.labelled(labelled('s'));
    assert.deepEqual(labels, { tags: { opened: 'v' }, description: 's' });
  });

  const tagsOf = async (world: World) =>
    (await world.lookup.list(world.permit(), 'secret', query)).items.map(({ labels }) => labels.tags.opened);

  it('of a page are opened once, with each vault once', async () => {
    const world = new World();
    world.rows.push(rowOf('w', 'vault'));
    world.pageRows = [labelled('a'), rowOf('b', 'secret'), labelled('c'), labelled('d', 'w')];
    const expected = ['v', undefined, 'v', 'w'];
    assert.deepEqual(await tagsOf(world), expected);
    assert.equal(world.opened, 2);
    let checks = 0;
    world.checked = row => {
      checks++;
      return row;
    };
    assert.deepEqual(await tagsOf(world), expected, 'the same page again');
    assert.deepEqual([world.opened, checks], [2, 0]);
    world.pageRows = [labelled('a'), labelled('d', 'w')];
    assert.deepEqual(await tagsOf(world), ['v', 'w']);
    assert.equal(checks, 2, 'another page is believed by itself');
  });

  it('of a page without any are none the next time too', async () => {
    const world = new World();
    world.pageRows = [rowOf('b', 'secret')];
    assert.deepEqual(await tagsOf(world), [undefined]);
    world.checked = () => assert.fail('it was believed before');
    assert.deepEqual(await tagsOf(world), [undefined]);
  });

  it('of a page with a row of an earlier form are opened each time', async () => {
    const world = new World();
    world.pageRows = [labelled('a')];
    let checks = 0;
    world.checked = row => {
      checks++;
      return { ...row };
    };
    await tagsOf(world);
    await tagsOf(world);
    assert.equal(checks, 2);
  });
});

describe('a list', () => {
  const list = async (
    query: Partial<MixedQuery>,
    type: ResourceType | null = 'secret',
    vaults: string[] | null = null,
  ) => {
    const world = new World();
    const { total } = await world.lookup.list(world.permit(vaults), type, {
      page: 1,
      limit: 10,
      ...query,
    } as MixedQuery);
    return { total, filter: world.filters[0] };
  };

  it('is asked for by what the query says', async () => {
    const { filter, total } = await list({ q: 'x', state: 'active', sort: 'name', tag: 'a=b=c' });
    assert.equal(total, 9);
    assert.deepEqual(filter, {
      organizationId: 'org',
      type: 'secret',
      vaultIds: undefined,
      q: 'x',
      tagIndex: 'org|a|b=c',
      state: 'active',
      order: 'name',
      now: 77,
    });
  });

  it('is of one type, or of the one that the query names', async () => {
    assert.equal((await list({ type: 'key' }, null)).filter?.type, 'key');
    assert.equal((await list({ type: 'key' }, 'secret')).filter?.type, 'secret');
    assert.equal((await list({}, null)).filter?.type, undefined);
  });

  it('is of any tag where none is named', async () => {
    assert.equal((await list({})).filter?.tagIndex, undefined);
    assert.equal((await list({ tag: 'a' })).filter?.tagIndex, 'org|a|');
  });

  it('is of the vaults that the caller is given', async () => {
    assert.deepEqual((await list({}, 'secret', ['v'])).filter?.vaultIds, ['v']);
    assert.deepEqual((await list({ vault_id: 'v' }, 'secret', ['v', 'w'])).filter?.vaultIds, ['v']);
    assert.deepEqual(await list({ vault_id: 'x' }, 'secret', ['v']), { total: 0, filter: undefined });
  });
});
