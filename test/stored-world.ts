/**
 * A service in which every table holds something, in two states a minute apart; and an intruder into its database,
 * who can do whatever SQL can, and has no key.
 */

import assert from 'node:assert/strict';
import { operatorOf } from '../src/cli/service/operator.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { AcmeClient } from './acme-client.ts';
import { Authenticator } from './authenticator.ts';
import { authorityBody, profileBody } from './authorities-world.ts';
import {
  type Answer,
  callService,
  type EngineName,
  eventually,
  loopbackWebhooks,
  makeOrganization,
} from './harness.ts';
import { issuerBody } from './leases-world.ts';
import { refresh, signedIn } from './oauth-world.ts';
import { Browser, type EmptyService, invite, setUp, startEmpty } from './people.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { openStorage, type Storage } from './storage.ts';

export type Row = Readonly<Record<string, unknown>>;
export type Tables = ReadonlyMap<string, readonly Row[]>;

export interface Column {
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
  /** Computed by the database. */
  readonly generated: boolean;
  /** Part of the primary key. */
  readonly key: boolean;
}

export interface Intruder {
  sql(text: string, parameters?: readonly unknown[]): Promise<Row[]>;
  /** Every table of the live schema, with its columns. */
  schema(): Promise<ReadonlyMap<string, readonly Column[]>>;
  /** All that is stored right now. */
  copy(): Promise<Tables>;
  /** Puts rows in the place of others, whatever refers to them. All or nothing. */
  replace(table: string, before: readonly Row[], after: readonly Row[]): Promise<void>;
  close(): Promise<void>;
}

export async function intrude(service: Pick<EmptyService, 'data' | 'databaseUrl'>): Promise<Intruder> {
  const into = service.databaseUrl === null ? intoSqlite : intoPostgres;
  const { sql, schema, close } = await into(await openStorage(service));
  const known = await schema();
  const columnsOf = (table: string) => known.get(table)!;

  async function remove(table: string, row: Row): Promise<void> {
    const keys = columnsOf(table).filter(({ key }) => key);
    const where = keys.map(({ name }) => `${name} IS NOT DISTINCT FROM ?`).join(' AND ');
    await sql(
      `DELETE FROM ${table} WHERE ${where}`,
      keys.map(({ name }) => row[name]),
    );
  }
  async function insert(table: string, row: Row): Promise<void> {
    const own = columnsOf(table).filter(({ generated }) => !generated);
    const names = own.map(({ name }) => name);
    const places = names.map(() => '?').join(', ');
    await sql(
      `INSERT INTO ${table} (${names.join(', ')}) VALUES (${places})`,
      names.map(name => row[name]),
    );
  }
  return {
    sql,
    schema: async () => known,
    close,
    copy: async () => {
      const tables = new Map<string, readonly Row[]>();
      for (const table of known.keys()) {
        const keys = columnsOf(table).filter(({ key }) => key);
        const order = keys.map(({ name }) => name).join(', ');
        tables.set(table, await sql(`SELECT * FROM ${table} ORDER BY ${order}`));
      }
      return tables;
    },
    replace: async (table, before, after) => {
      await sql('BEGIN');
      try {
        for (const row of before) await remove(table, row);
        for (const row of after) await insert(table, row);
        await sql('COMMIT');
      } catch (error) {
        await sql('ROLLBACK');
        throw error;
      }
    },
  };
}

type Connection = Pick<Intruder, 'sql' | 'schema' | 'close'>;

async function intoSqlite({ sql, close }: Storage): Promise<Connection> {
  await sql('PRAGMA foreign_keys = OFF');
  await sql('PRAGMA synchronous = OFF'); // Nothing here has to outlive the machine.
  const schema = async () => {
    // The index of names is made of tables too: like any index it only finds rows, which are then believed or not.
    const tables = await sql(
      `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
        AND name NOT LIKE 'resource_name%'`,
    );
    const found = new Map<string, Column[]>();
    for (const { name: table } of tables) {
      const rows = await sql(`SELECT * FROM pragma_table_xinfo('${table}')`);
      const columns = rows.map(({ name, type, notnull, pk, hidden }) => ({
        name: String(name),
        type: String(type).toLowerCase(),
        nullable: notnull === 0 && pk === 0,
        generated: hidden !== 0,
        key: pk !== 0,
      }));
      found.set(String(table), columns);
    }
    return found;
  };
  return { sql: (text, values = []) => sql(text, ...values), schema, close };
}

async function intoPostgres({ sql, close }: Storage): Promise<Connection> {
  await sql('SET session_replication_role = replica'); // No reference is checked.
  await sql('SET synchronous_commit = off'); // Nothing here has to outlive the machine.
  const schema = async () => {
    const keys = await sql(`SELECT table_name, column_name FROM information_schema.key_column_usage
      JOIN information_schema.table_constraints USING (constraint_name, table_name)
      WHERE constraint_type = 'PRIMARY KEY'`);
    const isKey = (table: unknown, column: unknown) =>
      keys.some(({ table_name, column_name }) => table_name === table && column_name === column);
    const found = new Map<string, Column[]>();
    for (const row of await sql(`SELECT * FROM information_schema.columns WHERE table_schema = 'public'
      ORDER BY table_name, ordinal_position`)) {
      const table = String(row.table_name);
      const column = {
        name: String(row.column_name),
        type: String(row.data_type),
        nullable: row.is_nullable === 'YES',
        generated: row.is_generated === 'ALWAYS',
        key: isKey(row.table_name, row.column_name),
      };
      found.set(table, [...(found.get(table) ?? []), column]);
    }
    return found;
  };
  return { sql: (text, values = []) => sql(text, ...values), schema, close };
}

/** The flags that name where the service keeps its data. */
export function placeOf({ data, databaseUrl }: Pick<EmptyService, 'data' | 'databaseUrl'>): string[] {
  return ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
}

export interface StoredWorld {
  readonly service: EmptyService;
  readonly owner: Browser;
  readonly intruder: Intruder;
  readonly secretId: string;
  readonly vaultId: string;
  readonly accessKey: string;
  /** An access key that was never used. */
  readonly idleKeyId: string;
  /** An owner's. */
  readonly apiKey: string;
  /** Was signed in until invited again. */
  readonly guest: Browser;
  /** Is signed in. */
  readonly person: Browser;
  /** Calls a tool in a session that was used before. */
  callTool(): Promise<Answer>;
  /** All that was stored a minute ago. */
  readonly earlier: Tables;
  stop(): Promise<void>;
}

export async function startStoredWorld(engine: EngineName): Promise<StoredWorld> {
  const service = await startEmpty(engine, [...loopbackWebhooks, '--oauth', 'offered']);
  const receiver = await startReceiver();
  const stop = async () => {
    await service.stop();
    await receiver.close();
  };
  try {
    return { ...(await fill(service, receiver)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As a service with a mail server would: this one has none, so the mails stay. */
async function inviteByMail(place: readonly string[], organizationId: string): Promise<void> {
  const flags = [...place, '--smtp-url', 'smtp://127.0.0.1', '--mail-from', 'vault@example.com'];
  const strongroom = await openStrongroom(readConfig(serveOptions, flags, {}), false);
  try {
    const { domain, newId } = strongroom;
    const permit = await domain.guard.admit(operatorOf(organizationId, newId), 'members:write');
    for (const email of ['mail-one@example.com', 'mail-two@example.com'])
      await domain.members.create(permit, { email, role: 'viewer' });
  } finally {
    await strongroom.close();
  }
}

async function fill(service: EmptyService, receiver: Receiver): Promise<Omit<StoredWorld, 'stop'>> {
  const owner = await setUp(service);
  const place = placeOf(service);
  const { organizationId } = await makeOrganization(place, 'Other', 'pro', 0);
  await inviteByMail(place, organizationId);
  const intruder = await intrude(service);
  const ok = async (browser: Browser, method: string, path: string, body?: unknown) => {
    const answer = await browser.call(method, path, body);
    assert.equal(answer.status, 200, `${method} ${path}: ${answer.text}`);
    return answer.body;
  };
  const made = (path: string, body: unknown) => ok(owner, 'POST', path, body);
  const site = () => service.url.replace('127.0.0.1', 'localhost');
  const dates = { activation_date: '2020-01-01T00:00:00Z', expiration_date: '2099-01-01T00:00:00Z' };

  const proposalIn = async (name: string): Promise<string> => {
    const { id: vault_id } = await made('/v1/vaults', { name: `reviewed ${name}`, review: true });
    const { body } = await owner.post('/v1/secrets', { vault_id, name: 'S', value: `p-${name}` });
    return body.proposal.id;
  };

  const vaults = [];
  for (const name of ['one', 'two']) {
    const vault = await made('/v1/vaults', { name, description: `vault ${name}`, tags: { team: name } });
    const at = { vault_id: vault.id };
    const secret = await made('/v1/secrets', {
      ...at,
      name: 'S',
      value: `v-${name}`,
      tags: { a: name },
      ...dates,
    });
    const rotating = await made('/v1/secrets', {
      ...at,
      name: 'ROTATING',
      value: `r-${name}`,
      rotation: { every: '30d', overlap: '1d', by: { kind: 'random' } },
    });
    await made(`/v1/secrets/${rotating.id}/rotate`, {});
    const doomed = await made('/v1/secrets', { ...at, name: 'DOOMED', value: 'gone', enabled: false });
    const generate = { key_type: 'EC', curve: 'P-256' };
    const key = await made('/v1/keys', { ...at, name: 'k', generate, ...dates });
    const self_signed = { subject: 'CN=example.org', days: 30 };
    await made('/v1/certificates', { ...at, name: 'c', key_id: key.id, self_signed });
    const narrowing = {
      names: ['S*'],
      max_uses: 100,
      rate_limit: 1000,
      expiration_date: dates.expiration_date,
    };
    const access = await made('/v1/access-keys', { ...at, name: `access ${name}`, ...narrowing });
    const pub = await made('/v1/public-tokens', { key_id: key.id, name: `public ${name}` });
    const api = await made('/v1/api-keys', { name: `api ${name}`, role: 'viewer', vault_ids: [vault.id] });
    const hook = {
      name: `hook ${name}`,
      url: receiver.url,
      events: ['resource.updated'],
      vault_ids: [vault.id],
    };
    const webhook = await made('/v1/webhooks', hook);
    const identity = await made('/v1/identities', {
      name: `identity ${name}`,
      method: 'secret_id',
      vault_ids: [vault.id],
      lifetime: 3_600,
      max_uses: 50,
      expiration_date: dates.expiration_date,
    });
    const secretId = await made('/v1/secret-ids', { identity_id: identity.id, name, max_uses: 9 });
    await logIn(identity.id, secretId.token);
    const rule = await made('/v1/use-rules', {
      secret_id: secret.id,
      name: `rule ${name}`,
      hosts: ['example.com'],
      methods: ['GET'],
      paths: ['/'],
      place: { type: 'bearer' },
      response: 'status-only',
    });
    const agent = await made('/v1/access-keys', {
      ...at,
      name: `agent ${name}`,
      names_only: true,
      may_use: true,
    });
    const run = await made('/v1/runs', { purpose: `run ${name}`, vault_ids: [vault.id] });
    const issuer = await made('/v1/issuers', issuerBody(vault.id, `S db ${name}`));
    const lease = await leaseFor(access.token, issuer.name);
    const authority = await made('/v1/authorities', authorityBody(vault.id, `ca ${name}`));
    const profile = await made('/v1/profiles', profileBody(authority.id, `services ${name}`));
    const certificate = await made(`/v1/profiles/${profile.id}/issue`, { names: ['api.internal.example'] });
    const acme = await acmeFor(authority.id, vault.id, name);
    const approval = await approvalFor(agent.token);
    const proposal = await proposalIn(name);
    const { id: member, browser: guest } = await invite(service, owner, `${name}@example.org`, 'viewer');
    const grants = [{ vault_id: vault.id, role: 'viewer' }];
    const wanted = { vault_id: vault.id, role: 'reader', until: dates.expiration_date };
    const request = await ok(guest, 'POST', '/auth/role-requests', wanted);
    const group = await made('/v1/groups', { name: `group ${name}`, grants, member_ids: [member] });
    const stage = await made('/v1/stages', { name: `stage ${name}`, vault_ids: [vault.id] });
    const authenticator = new Authenticator(site());
    const person = await byPasskey(`key-${name}@example.org`, authenticator);
    await service.browser().signIn(`nobody-${name}@example.org`, 'wrong');
    const session = await toolSession(access.token);
    const device = await ok(owner, 'POST', '/auth/device', { host: name });
    const grant = await signedIn({ service, owner, vaultId: vault.id });
    vaults.push({
      vault,
      secret,
      doomed,
      key,
      access,
      pub,
      api,
      webhook,
      identity,
      secretId,
      rule,
      agent,
      run,
      issuer,
      rotating,
      authority,
      profile,
      certificate,
      acme,
      lease,
      approval,
      request,
      proposal,
      member,
      group,
      stage,
      guest,
      authenticator,
      person,
      session,
      device,
      grant,
    });
  }
  const unread = { vault_id: vaults[0]!.vault.id, name: 'idle', expiration_date: dates.expiration_date };
  const idle = await made('/v1/access-keys', unread);
  const operator = await made('/v1/api-keys', { name: 'operator', role: 'owner' });
  const second = service.browser();
  await second.signIn('owner@example.org');
  for (const { vault, access } of vaults) await read(vault.id, access.token);
  await eventually(
    'there is a checkpoint',
    async () => (await intruder.sql('SELECT count(*) AS n FROM checkpoints'))[0]!.n !== 0,
  );

  const earlier = await intruder.copy();
  service.clock.pass(61_000);
  for (const [index, of] of vaults.entries()) {
    const name = ['one', 'two'][index]!;
    await ok(owner, 'PUT', `/v1/vaults/${of.vault.id}`, { description: 'changed' });
    await ok(owner, 'PUT', `/v1/secrets/${of.secret.id}`, { value: `w-${name}` });
    await ok(owner, 'DELETE', `/v1/secrets/${of.doomed.id}?purge=true`);
    await ok(owner, 'PUT', `/v1/keys/${of.key.id}`, { name: 'renamed' });
    await ok(owner, 'PUT', `/v1/webhooks/${of.webhook.id}`, { name: `changed ${name}` });
    await logIn(of.identity.id, of.secretId.token);
    await ok(owner, 'PUT', `/v1/identities/${of.identity.id}`, { name: `machine ${name}` });
    await ok(owner, 'PUT', `/v1/access-keys/${of.agent.id}`, { name: `changed agent ${name}` });
    await ok(owner, 'PUT', `/v1/use-rules/${of.rule.id}`, { name: `changed ${name}` });
    await ok(owner, 'POST', `/v1/secrets/${of.rotating.id}/rotate`, { end_previous: true });
    await ok(owner, 'PUT', `/v1/issuers/${of.issuer.id}`, { name: `S changed ${name}` });
    await ok(owner, 'PUT', `/v1/authorities/${of.authority.id}`, { name: `changed ca ${name}` });
    await ok(owner, 'PUT', `/v1/profiles/${of.profile.id}`, { max_days: 7 });
    await ok(owner, 'POST', `/v1/issued-certificates/${of.certificate.id}/revoke`);
    const told = await of.acme.post(of.acme.kid, { contact: [`mailto:${name}@example.org`] });
    assert.equal(told.status, 200, told.text);
    await of.acme.finalize(of.acme.ordered);
    await ok(owner, 'POST', `/v1/leases/${of.lease}/revoke`);
    await approvalFor(of.run.token);
    await ok(owner, 'POST', `/v1/runs/${of.run.id}/end`);
    await ok(owner, 'POST', `/auth/approvals/${of.approval}/approve`, { scope: 'rule' });
    await ok(owner, 'POST', `/auth/role-requests/${of.request.id}/refuse`, {});
    await ok(owner, 'POST', `/v1/proposals/${of.proposal}/reject`);
    await ok(owner, 'PUT', `/v1/groups/${of.group.id}`, { name: `team ${name}` });
    await ok(owner, 'PUT', `/v1/stages/${of.stage.id}`, { name: `changed ${name}` });
    await ok(owner, 'DELETE', `/v1/api-keys/${of.api.id}`);
    await ok(owner, 'DELETE', `/v1/public-tokens/${of.pub.id}`);
    await ok(owner, 'POST', `/v1/members/${of.member}/invitation`, {});
    await ok(owner, 'POST', '/auth/device/approve', { user_code: of.device.user_code, role: 'viewer' });
    const refreshed = await refresh(service.url, of.grant.refresh_token);
    assert.equal(refreshed.status, 200, refreshed.text);
    await signInByPasskey(of.authenticator, 7);
    await service.browser().signIn(`nobody-${name}@example.org`, 'wrong');
    assert.equal((await callTool(of.session, of.vault.id, of.access.token)).status, 200);
    await read(of.vault.id, of.access.token);
  }
  await ok(owner, 'PUT', '/v1/organization', { name: 'Acme & Daughters' });
  await ok(second, 'POST', '/auth/sign-out', {});
  await receiver.received(4);
  await settled();
  const [{ secret, vault, access, guest, person, session }] = vaults as [(typeof vaults)[0]];
  return {
    service,
    owner,
    intruder,
    secretId: secret.id,
    vaultId: vault.id,
    accessKey: access.token,
    idleKeyId: idle.id,
    apiKey: operator.token,
    guest,
    person,
    callTool: () => callTool(session, vault.id, access.token),
    earlier,
  };

  /** The approval that a call of this access key waits for. */
  async function approvalFor(token: string): Promise<string> {
    const call = { secret: 'S', url: 'https://example.com/' };
    const answer = await callService(service.url, 'POST', '/api/v1/vaults/self/use', call, token);
    return answer.body.approval.id;
  }

  /** A lease whose credential could not be created, because the service may not reach the database. */
  /** A client with an account and an order. */
  async function acmeFor(authorityId: string, vault_id: string, name: string) {
    const body = { ...profileBody(authorityId, `acme ${name}`), acme: { enabled: true } };
    const { id } = await made('/v1/profiles', body);
    const { id: access_key_id } = await made('/v1/access-keys', { vault_id, name: `acme ${name}` });
    const client = await AcmeClient.at(service.url, id);
    await client.register(await made(`/v1/profiles/${id}/acme-binding`, { access_key_id }));
    const ordered = await client.order(['api.internal.example']);
    assert.equal(ordered.status, 201, ordered.text);
    return Object.assign(client, { ordered });
  }

  async function leaseFor(token: string, name: string): Promise<string> {
    const answer = await callService(service.url, 'POST', '/api/v1/vaults/self/leases', { name }, token);
    assert.equal(answer.status, 503, answer.text);
    const { body } = await owner.get('/v1/leases');
    return body.data[0].id;
  }

  async function read(vaultId: string, token: string): Promise<void> {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${service.url}/api/v1/vaults/${vaultId}`, { headers });
    assert.equal(answer.status, 200, await answer.text());
  }
  async function logIn(identity_id: string, secret_id: string): Promise<void> {
    const answer = await service.browser().post('/api/v1/login', { identity_id, secret_id });
    assert.equal(answer.status, 200, answer.text);
  }
  async function byPasskey(email: string, authenticator: Authenticator): Promise<Browser> {
    const { token } = await made('/v1/members', { email, role: 'auditor' });
    const browser = new Browser(site);
    const options = await ok(browser, 'POST', '/auth/invitation/options', { token });
    const passkey = { name: 'Laptop', credential: authenticator.create(options) };
    await ok(browser, 'POST', '/auth/invitation/accept', { token, passkey });
    return browser;
  }
  async function signInByPasskey(authenticator: Authenticator, counter: number): Promise<void> {
    const browser = new Browser(site);
    const options = await ok(browser, 'POST', '/auth/passkey/options', {});
    await ok(browser, 'POST', '/auth/passkey', { credential: authenticator.get(options, { counter }) });
  }
  async function toolSession(accessKey: string): Promise<string> {
    const headers = { origin: service.url, authorization: `Bearer ${accessKey}` };
    const answer = await service.browser().post('/mcp', { method: 'initialize' }, headers);
    return answer.headers.get('mcp-session-id')!;
  }
  function callTool(session: string, vaultId: string, accessKey: string): Promise<Answer> {
    const call = { name: 'secrets.list', arguments: { namesOnly: true, vault: { vaultId, accessKey } } };
    const headers = { 'mcp-session-id': session };
    return service.browser().post('/mcp', { method: 'tools/call', params: call }, headers);
  }
  /** Nothing is under way any more: all is filed, delivered and signed, and the answers last read are stored. */
  async function settled(): Promise<void> {
    await owner.get('/v1/request-logs');
    await eventually('no delivery is pending', async () => {
      const [{ n }] = (await intruder.sql(
        `SELECT count(*) AS n FROM deliveries WHERE state = 'pending'`,
      )) as [Row];
      return Number(n) === 0;
    });
    await eventually('the answers of all vaults are stored', async () => {
      const [{ n }] = (await intruder.sql('SELECT count(*) AS n FROM kept_answers')) as [Row];
      return Number(n) >= vaults.length;
    });
  }
}
