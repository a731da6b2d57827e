/**
 * A search within names by an index finds what looking through all of them finds, whatever is searched for and
 * whatever became of the rows: renamed, deleted, restored, gone for good.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { idGenerator } from '../src/contract/id.ts';
import type { Engine } from '../src/store/engine/engine.ts';
import { nameSearch } from '../src/store/lists/name-search.ts';
import type { ResourceFilter } from '../src/store/lists/resource-filter.ts';
import { resourceLists } from '../src/store/lists/resource-lists.ts';
import { openPostgres } from '../src/store/postgres/postgres.ts';
import { organizations } from '../src/store/records/organizations.ts';
import { type ResourceRow, resources } from '../src/store/records/resources.ts';
import { openSqlite } from '../src/store/sqlite/sqlite.ts';
import { stampFrom } from './bytes.ts';
import { engines } from './harness.ts';
import { freshDatabase } from './postgres.ts';

const newId = idGenerator(Date.now);
const times = { created_at: 1, updated_at: 1, revision: 1, stamp: stampFrom(Buffer.alloc(32)) };
const letters = [
  'a',
  'B',
  'c',
  '_',
  '%',
  '\\',
  '"',
  "'",
  '*',
  'Ä',
  'ß',
  'İ',
  'ⅷ',
  '😀',
  ' ',
  '-',
  ':',
  '\u0301',
];
/** More than are looked through without a thought, where it is for us to choose. */
const many = { sqlite: 2_500, postgres: 600 };

for (const engineName of engines) {
  describe(`a search within names on ${engineName}`, () => {
    let engine: Engine;
    let close: () => Promise<void>;
    const organizationId = newId();
    const vaultId = newId();
    const rows: ResourceRow[] = [];

    before(async () => {
      ({ engine, close } = await (engineName === 'sqlite' ? sqlite() : postgres()));
      const plan = { plan: 'pro', enterprise_limit: 0 };
      const organization = { ...times, id: organizationId, name: 'Search', ...plan };
      await engine.commit([{ statements: [organizations(engine).insert(organization)] }]);
      const shortName = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 8 });
      const made = fc.sample(shortName, { numRuns: many[engineName], seed: 7 }).map(name => name.join(''));
      for (const name of made) rows.push(resourceRow(name));
      await commit(({ insert }) => rows.map(row => insert(row)));
      if (engineName === 'sqlite') await commit(({ count }) => [count(rows, 1)]);
      await change();
    });
    after(() => close());

    function resourceRow(name: string): ResourceRow {
      const nothing = { activation_date: null, expiration_date: null, content_type: null, deleted_at: null };
      const sealed = { labels: null, vault_key: null };
      const id = newId();
      // Each name once: in a vault they are unique.
      const unique = `${name}${id.slice(-3)}${id}`;
      const named = { name: unique, name_search: unique.toLowerCase() };
      const place = { id, organization_id: organizationId, vault_id: vaultId, type: 'secret', version: 1 };
      return { ...times, ...nothing, ...sealed, ...named, ...place, enabled: 1, attributes: '{}' };
    }

    type Nouns = ReturnType<typeof resources>;
    async function commit(statements: (nouns: Nouns) => ReturnType<Nouns['insert']>[]): Promise<void> {
      await engine.commit([{ statements: statements(resources(engine)) }]);
    }

    /** Every third is renamed, every fifth in the trash, every seventh gone. */
    async function change(): Promise<void> {
      const changed = rows.map((row, at): ResourceRow | null => {
        if (at % 7 === 0) return null;
        const name = at % 3 === 0 ? `${row.name}renamed${at}` : row.name;
        const deleted_at = at % 5 === 0 ? 5 : null;
        return { ...row, name, name_search: name.toLowerCase(), deleted_at, revision: 2 };
      });
      await commit(({ update, purge }) =>
        changed.map((row, at) => (row === null ? purge(rows[at]!.id, 1) : update(row))),
      );
      rows.splice(0, rows.length, ...changed.filter(row => row !== null));
    }

    const scanned = (q: string, state: ResourceFilter['state']) =>
      rows
        .filter(row => (row.deleted_at !== null) === (state === 'deleted'))
        .filter(({ name_search }) => name_search.includes(q.toLowerCase()))
        .map(({ id }) => id)
        .reverse();

    async function searched(filter: Partial<ResourceFilter>, page = 1) {
      const lists = resourceLists(engine);
      const found = await lists.page({ organizationId, now: 0, ...filter }, { page, limit: 100 });
      return { ids: found.rows.map(({ id }) => id), total: found.total };
    }

    const part = fc.oneof(
      fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 5 }).map(some => some.join('')),
      fc.nat(10_000).chain(at => {
        const { name } = rows[at % rows.length]!;
        return fc
          .tuple(fc.nat([...name].length - 1), fc.integer({ min: 1, max: 20 }))
          .map(([from, length]) => [...name].slice(from, from + length).join(''));
      }),
    );

    it('finds the same by its index as by looking through all', async () => {
      const state = fc.constantFrom(undefined, 'deleted' as const);
      await fc.assert(
        fc.asyncProperty(part, state, fc.constantFrom(undefined, 'secret'), async (q, state, type) => {
          const expected = scanned(q, state);
          const { ids, total } = await searched({ q, state, type });
          assert.deepEqual(ids, expected.slice(0, 100));
          assert.equal(total, expected.length);
        }),
        { numRuns: 150 },
      );
    });

    it('and page by page', async () => {
      const expected = scanned('a', undefined);
      for (let page = 1; page <= Math.ceil(expected.length / 100); page++) {
        const { ids } = await searched({ q: 'a' }, page);
        assert.deepEqual(ids, expected.slice((page - 1) * 100, page * 100));
      }
    });

    if (engineName === 'sqlite') {
      it('the index is asked where it finds few among many, whatever the length of the text', async () => {
        const { candidatesFor } = nameSearch(engine);
        const asks = async (filter: Partial<ResourceFilter>) =>
          (await candidatesFor({ organizationId, now: 0, ...filter })) !== null;
        assert.equal(await asks({ q: `renamed${rows.length}` }), true);
        assert.equal(await asks({ q: 'ß😀' }), true);
        assert.equal(await asks({ q: 'nothing like it' }), true);
        assert.equal(await asks({ q: '-' }), false, 'that is in every name');
        assert.equal(
          await asks({ q: 'renamed', vaultIds: [newId()] }),
          false,
          'there are none to look through',
        );
        assert.equal(await asks({}), false);
      });
    }
  });
}

async function sqlite() {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-names-'));
  const engine = await openSqlite(join(folder, 'names.db'), false);
  const close = async () => {
    await engine.close();
    await rm(folder, { recursive: true });
  };
  return { engine, close };
}

async function postgres() {
  const engine = await openPostgres({ url: await freshDatabase() });
  return { engine, close: () => engine.close() };
}
