/** The lists’ queries, as each engine plans them: by indexes, never by reading a table from end to end. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import type { CompiledQuery } from 'kysely';
import pg from 'pg';
import type { Engine } from '../src/store/engine/engine.ts';
import { givenNames, namedCollections } from '../src/store/lists/given-names.ts';
import { openPostgres } from '../src/store/postgres/postgres.ts';
import { credentials } from '../src/store/records/credentials.ts';
import { deliveries } from '../src/store/records/deliveries.ts';
import { identities } from '../src/store/records/identities.ts';
import { logs } from '../src/store/records/logs.ts';
import { organizations } from '../src/store/records/organizations.ts';
import { requestLogs } from '../src/store/records/request-logs.ts';
import { resources } from '../src/store/records/resources.ts';
import { webhooks } from '../src/store/records/webhooks.ts';
import { openSqlite } from '../src/store/sqlite/sqlite.ts';
import { engines } from './harness.ts';
import { freshDatabase } from './postgres.ts';

const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
const page = { page: 1, limit: 20 };
const organization = { organizationId: id, now: 0 };

type Explained = Pick<CompiledQuery, 'sql' | 'parameters'>;
type Store = ReturnType<typeof nouns>;
const nouns = (engine: Engine) => ({
  webhooks: webhooks(engine),
  givenNames: givenNames(engine),
  identities: identities(engine),
  deliveries: deliveries(engine),
  resources: resources(engine),
  credentials: credentials(engine),
  organizations: organizations(engine),
  logs: logs(engine),
  requestLogs: requestLogs(engine),
});

/** `sorted`: the index gives the order too, so that a page takes no more than its rows. */
const lists: [name: string, run: (store: Store) => Promise<unknown>, sorted: boolean][] = [
  ['all resources', store => store.resources.page(organization, page), true],
  ['all secrets', store => store.resources.page({ ...organization, type: 'secret' }, page), true],
  [
    'a vault’s secrets',
    store => store.resources.page({ ...organization, type: 'secret', vaultIds: [id] }, page),
    true,
  ],
  [
    'a page as of an id',
    store => store.resources.page({ ...organization, type: 'secret' }, { ...page, asOf: id }),
    true,
  ],
  [
    'active secrets',
    store => store.resources.page({ ...organization, type: 'secret', state: 'active' }, page),
    true,
  ],
  [
    'the audit log of one actor',
    store => store.logs.auditPage({ organizationId: id, actorId: id }, page),
    true,
  ],
  ['all of a vault', store => store.resources.page({ ...organization, vaultIds: [id] }, page), false],
  ['expired ones', store => store.resources.page({ ...organization, state: 'expired' }, page), false],
  ['not yet active ones', store => store.resources.page({ ...organization, state: 'inactive' }, page), false],
  ['disabled ones', store => store.resources.page({ ...organization, state: 'disabled' }, page), false],
  ['the trash', store => store.resources.page({ ...organization, state: 'deleted' }, page), false],
  ['by a tag', store => store.resources.page({ ...organization, tagIndex: 'x' }, page), false],
  ['a secret’s versions', store => store.resources.versionPage(id, page), true],
  ['API keys', store => store.credentials.page({ organizationId: id, kind: 'api-key' }, page), true],
  [
    'a vault’s access keys',
    store => store.credentials.page({ organizationId: id, kind: 'access-key', vaultIds: [id] }, page),
    false,
  ],
  ['identities', store => store.identities.page(id, page), true],
  [
    'an identity’s secret ids',
    store => store.credentials.page({ organizationId: id, kind: 'secret-id', identityId: id }, page),
    false,
  ],
  ['webhooks', store => store.webhooks.page(id, page), true],
  ['deliveries', store => store.deliveries.page({ organizationId: id }, page), true],
  ['members', store => store.organizations.memberPage(id, page), false],
  ['the request log', store => store.requestLogs.page({ organizationId: id }, page), true],
  ['a vault’s requests', store => store.requestLogs.page({ organizationId: id, vaultId: id }, page), true],
  ['the audit log', store => store.logs.auditPage({ organizationId: id }, page), true],
  ...namedCollections.map((name): (typeof lists)[number] => [
    `the names of ${name}`,
    store => store.givenNames.in(id, name, id, 9),
    false,
  ]),
];

const lookups: [what: string, run: (store: Store) => Promise<unknown>, index: string][] = [
  ['a secret', store => store.resources.byName(id, 'secret', 'x'), 'resources_name'],
  ['a vault', store => store.resources.vaultByName(id, 'x'), 'resources_vault_name'],
];

for (const engineName of engines) {
  describe(`the plans of lists on ${engineName}`, () => {
    let engine: Engine;
    let recorded: CompiledQuery[] = [];
    /** Those of them that the thread which serves would have run itself. */
    let atOnce: CompiledQuery[] = [];
    let explain: (query: Explained) => Promise<string>;
    let close: () => Promise<void>;

    before(async () => {
      const opened = await (engineName === 'sqlite' ? sqlite() : postgres());
      ({ explain, close } = opened);
      const record = (query: CompiledQuery) => recorded.push(query);
      const db = recording(opened.engine.db, query => {
        record(query);
        atOnce.push(query);
      });
      engine = { ...opened.engine, db, lists: recording(opened.engine.lists, record) };
    });
    after(() => close());

    /** What is built once, ahead of all queries, is not part of them. */
    async function listing(run: (store: Store) => Promise<unknown>): Promise<void> {
      const store = nouns(engine);
      recorded = [];
      atOnce = [];
      await run(store);
    }

    // PostgreSQL chooses by what it knows of the rows, and there are none; SQLite by the shape of the query.
    for (const state of engineName === 'sqlite'
      ? (['active', 'expired', 'inactive', 'disabled'] as const)
      : []) {
      it(`${state} secrets: what may not be active is found by an index of its own`, async () => {
        await listing(store => store.resources.page({ ...organization, type: 'secret', state }, page));
        const plans = await Promise.all(recorded.map(explain));
        assert.ok(
          plans.some(plan => plan.includes('resources_maybe_inactive')),
          plans.join('\n\n'),
        );
      });
    }

    for (const [what, run, index] of engineName === 'sqlite' ? lookups : []) {
      it(`${what} is found by the index of names, however many there are`, async () => {
        await listing(run);
        const plans = await Promise.all(recorded.map(explain));
        assert.equal(plans.length, 1);
        assert.match(plans[0]!, new RegExp(`INDEX ${index}\\b`, 'i'));
      });
    }

    it('counting a vault takes the rows of its organization and its own, however many vaults there are', async () => {
      const statements = nouns(engine).resources.countVault(id, id, -1);
      const plans = await Promise.all(statements.map(explain));
      assert.match(plans.at(-1)!, /organization_id ?= ?\S+ AND \(?vault_id/, plans.join('\n\n'));
    });

    for (const [name, run, sorted] of lists) {
      it(`${name}: by an index${sorted ? ', which gives the order too' : ''}`, async () => {
        await listing(run);
        assert.ok(recorded.length >= 1);
        for (const query of recorded) {
          const plan = withoutRestricted(await explain(query));
          assert.doesNotMatch(plan, /Seq Scan|^SCAN/m, `${query.sql}\n${plan}`);
          if (sorted) assert.doesNotMatch(plan, /\bSort\b|TEMP B-TREE/, `${query.sql}\n${plan}`);
        }
        // Looking up a kept total by its key is no work; whatever goes over rows is done apart.
        for (const { sql } of atOnce) assert.doesNotMatch(sql, /offset|limit|count\(|sum\(|like/i);
      });
    }
  });
}

/** Leaves out what is done with the few rows that a query inside of the query gave. */
function withoutRestricted(plan: string): string {
  return plan.replace(/^SCAN newest[\s\S]*/m, '').replace(/^SCAN (page|some|CONSTANT ROW)$/gm, '');
}

/** Also of a query that was compiled once and is only filled now. */
function recording(db: Engine['db'], record: (query: CompiledQuery) => void): Engine['db'] {
  const built = db.withPlugin({
    transformQuery: ({ node, queryId }) => {
      const query = db.getExecutor().compileQuery(node, queryId);
      if (!query.parameters.some(isPlace)) record(query);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
  const executeQuery = (query: CompiledQuery) => {
    record(query);
    return built.executeQuery(query);
  };
  return new Proxy(built, {
    get: (target, name) => {
      if (name === 'executeQuery') return executeQuery;
      const found = Reflect.get(target, name, target);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

const isPlace = (value: unknown) => typeof value === 'object' && value !== null && 'valueIn' in value;

async function sqlite() {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-plans-'));
  const path = join(folder, 'plans.db');
  const engine = await openSqlite(path, false);
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  const explain = async ({ sql, parameters }: Explained) =>
    database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...(parameters as SQLInputValue[]))
      .map(({ detail }) => detail)
      .join('\n');
  const close = async () => {
    database.close();
    await engine.close();
    await rm(folder, { recursive: true });
  };
  return { engine, explain, close };
}

/** The tables are empty, so plans by the table from end to end are switched off: what still shows has no other. */
async function postgres() {
  const url = await freshDatabase();
  const engine = await openPostgres({ url });
  const client = new pg.Client(url);
  await client.connect();
  await client.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off');
  const explain = async ({ sql, parameters }: Explained) => {
    const { rows } = await client.query(`EXPLAIN ${sql}`, [...parameters]);
    return rows.map(row => row['QUERY PLAN']).join('\n');
  };
  const close = async () => {
    await client.end();
    await engine.close();
  };
  return { engine, explain, close };
}
