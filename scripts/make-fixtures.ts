/**
 * Creates the databases in test/fixtures, one for each engine, as the current code stores them. Run it once for a
 * release (`node scripts/make-fixtures.ts NAME`) and never again for the same name, because a fixture is what users of
 * that release have.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { passwordCosts } from '../src/domain/sign-in/passwords.ts';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { migrate } from '../src/store/migrations/migrations.ts';
import { run } from '../test/command.ts';
import {
  callService,
  type EngineName,
  engines,
  loopbackWebhooks,
  makeOrganization,
} from '../test/harness.ts';
import { type EmptyService, fromBase32, invite, password, setUp, startEmpty } from '../test/people.ts';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';
import vectors from '../test/vectors/material.json' with { type: 'json' };

const day = 24 * 3_600_000;
const email = 'owner@example.org';
/** Nothing listens there, so deliveries to it wait forever. */
const deadEnd = 'http://127.0.0.1:2/hook';

async function fill(service: EmptyService) {
  const owner = await setUp(service, email);
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await owner.call(method, path, body);
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const read = (vaultId: string, token: string, query = '') =>
    callService(service.url, 'GET', `/api/v1/vaults/${vaultId}${query}`, undefined, token);
  await ok('POST', '/v1/webhooks', { url: deadEnd, events: ['resource.created'] });
  const vault = await ok('POST', '/v1/vaults', {
    name: 'Main',
    description: 'first',
    tags: { team: 'core' },
  });
  const other = await ok('POST', '/v1/vaults', { name: 'Other' });
  const vault_id = vault.id;
  const secret = await ok('POST', '/v1/secrets', {
    vault_id,
    name: 'PASSWORD',
    value: 'one',
    tags: { a: 'b' },
  });
  await ok('PUT', `/v1/secrets/${secret.id}`, { value: 'two ü' });
  await ok('POST', '/v1/secrets', { vault_id, name: 'OFF', value: 'off', enabled: false });
  const lasting = new Date(Date.now() + 3_650 * day).toISOString();
  await ok('POST', '/v1/secrets', { vault_id, name: 'LASTING', value: 'long', expiration_date: lasting });
  await ok('POST', '/v1/secrets', { vault_id: other.id, name: 'PASSWORD', value: 'elsewhere' });
  const trashed = await ok('POST', '/v1/secrets', { vault_id, name: 'TRASHED', value: 'away' });
  await ok('DELETE', `/v1/secrets/${trashed.id}`);
  const key = await ok('POST', '/v1/keys', {
    vault_id,
    name: 'signing',
    generate: { key_type: 'EC', curve: 'P-256' },
  });
  const certificate = await ok('POST', '/v1/certificates', { vault_id, name: 'site', pem: vectors.pem.leaf });
  const access = await ok('POST', '/v1/access-keys', { vault_id, name: 'reader' });
  const narrow = await ok('POST', '/v1/access-keys', {
    vault_id,
    name: 'narrow',
    names: ['LAST*'],
    kinds: ['secret'],
  });
  const counted = await ok('POST', '/v1/access-keys', { vault_id, name: 'counted', max_uses: 2 });
  const revoked = await ok('POST', '/v1/access-keys', { vault_id, name: 'revoked' });
  const publicToken = await ok('POST', '/v1/public-tokens', { key_id: key.id, name: 'shown' });
  const apiKey = await ok('POST', '/v1/api-keys', { name: 'owner key', role: 'owner' });
  const viewer = await ok('POST', '/v1/api-keys', { name: 'viewer', role: 'viewer', vault_ids: [vault_id] });
  for (const token of [access.token, narrow.token, counted.token, revoked.token]) await read(vault_id, token);
  await read(vault_id, access.token, '?include=keys,certificates');
  await ok('DELETE', `/v1/access-keys/${revoked.id}`);
  await read(vault_id, revoked.token);
  await invite(service, owner, 'member@example.org', 'editor');
  await ok('POST', '/v1/members', { email: 'invited@example.org', role: 'viewer' });
  await owner.prove();
  const seed = (await ok('POST', '/auth/totp/begin', {})).secret;
  await ok('POST', '/auth/totp', { code: codeAt(fromBase32(seed), stepAt(Date.now())) });
  return {
    email,
    password,
    seed,
    apiKey: apiKey.token,
    viewer: viewer.token,
    vault: { id: vault_id, name: 'Main', description: 'first', tags: { team: 'core' } },
    secret: { id: secret.id, name: 'PASSWORD', values: ['one', 'two ü'], tags: { a: 'b' } },
    active: { LASTING: 'long', PASSWORD: 'two ü' },
    trashed: { id: trashed.id, value: 'away' },
    key: { id: key.id, pem: (await ok('POST', `/v1/keys/${key.id}/reveal`, {})).pem },
    certificate: { id: certificate.id, pem: vectors.pem.leaf },
    tokens: {
      access: access.token,
      narrow: narrow.token,
      counted: counted.token,
      revoked: revoked.token,
      public: publicToken.token,
    },
    members: ['invited@example.org', 'member@example.org', email],
    requests: (await ok('GET', `/v1/request-logs?vault_id=${vault_id}`)).pagination.total,
  };
}

async function make(name: string, engine: EngineName): Promise<void> {
  const service = await startEmpty(engine, loopbackWebhooks, {}, passwordCosts);
  const place = [
    '--data',
    service.data,
    ...(service.databaseUrl === null ? [] : ['--database-url', service.databaseUrl]),
  ];
  const expected = await fill(service);
  const beside = await makeOrganization(place, 'Beside', 'enterprise', 0);
  const rotated = await run(['keyring', 'rotate', ...place]);
  if (rotated.code !== 0) throw new Error(rotated.stderr);
  const folder = join(fileURLToPath(new URL('../test/fixtures', import.meta.url)), name, engine);
  mkdirSync(folder, { recursive: true });
  const kept = async () => {
    for (const file of ['root.key', 'log-public-key.pem', 'checkpoint.json'])
      cpSync(join(service.data, file), join(folder, file));
    if (service.databaseUrl !== null)
      writeFileSync(join(folder, 'dump.sql'), await dump(service.databaseUrl));
    else saveFile(join(service.data, 'strongroom.db'), join(folder, 'strongroom.db'));
  };
  await service.stop(kept);
  writeFileSync(
    join(folder, 'expected.json'),
    `${JSON.stringify({ ...expected, beside: beside.key }, null, 2)}\n`,
  );
}

/** Saves one file, without a write-ahead log. */
function saveFile(from: string, to: string): void {
  const database = new DatabaseSync(from, { timeout: 5_000 });
  database.exec(`VACUUM INTO '${to}'`);
  database.close();
}

async function dump(url: string): Promise<string> {
  const client = new pg.Client(url);
  await client.connect();
  const ddl = await tablesMade();
  const lines = [
    'create table "kysely_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null)',
    'create table "kysely_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null)',
    ...ddl,
  ].map(line => `${line.replaceAll(/\s+/g, ' ')};`);
  // In order of creation, so that tables come before those that refer to them.
  const tables = await client.query(
    "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY oid",
  );
  for (const { name } of tables.rows) lines.push(...(await rowsOf(client, name)));
  await client.end();
  return `${lines.join('\n')}\n`;
}

/** The statements of the migrations on an empty database, because some migrations depend on the existing data. */
async function tablesMade(): Promise<string[]> {
  const said: string[] = [];
  const pool = new pg.Pool({ connectionString: await freshDatabase() });
  const db = new Kysely<unknown>({
    dialect: new PostgresDialect({ pool }),
    log: ({ query }) => void said.push(query.sql),
  });
  await migrate(db, 'postgres');
  await db.destroy();
  return said.filter(text => /^\s*(create|alter|drop|do)\b/i.test(text) && !text.includes('kysely_'));
}

async function rowsOf(client: pg.Client, table: string): Promise<string[]> {
  const found = await client.query(
    "SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum",
    [table],
  );
  const names: string[] = found.rows.map(({ name }) => `"${name}"`);
  const texts = names.map(name => `quote_nullable(${name}::text)`).join(` || ', ' || `);
  const { rows } = await client.query(`SELECT ${texts} AS row FROM ${table} ORDER BY 1`);
  return rows.map(({ row }) => `INSERT INTO ${table} (${names.join(', ')}) VALUES (${row});`);
}

const [name] = process.argv.slice(2);
if (name === undefined) throw new Error('a name is required');
await globalSetup();
for (const engine of engines) await make(name, engine);
await globalTeardown();
