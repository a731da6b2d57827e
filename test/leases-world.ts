/** A database in which issuers create users, with an administrator of its own; and a service with such an issuer. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import {
  type Answer,
  callService,
  type EngineName,
  eventually,
  loopbackWebhooks,
  type Service,
  startService,
} from './harness.ts';
import { freshDatabase } from './postgres.ts';

export interface Target {
  readonly url: string;
  readonly admin: string;
  readonly group: string;
  sql(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  /** The users that issuers created and that are members of the group. */
  users(): Promise<string[]>;
  close(): Promise<void>;
}

/** The administrator may create users and give them the group, as an operator would set it up. */
export async function startTarget(): Promise<Target> {
  const own = await freshDatabase();
  const client = new pg.Client(own);
  await client.connect();
  const mark = randomBytes(5).toString('hex');
  const [admin, group] = [`admin_${mark}`, `app_${mark}`];
  const sql = async (text: string, values: readonly unknown[] = []) =>
    (await client.query(text, [...values])).rows;
  await sql(`CREATE ROLE ${group} NOLOGIN`);
  await sql(`CREATE ROLE ${admin} LOGIN CREATEROLE PASSWORD 'correct-horse'`);
  await sql(`GRANT ${group} TO ${admin} WITH ADMIN OPTION`);
  await sql('CREATE TABLE orders (id int)');
  await sql('INSERT INTO orders VALUES (1)');
  await sql(`GRANT ALL ON SCHEMA public TO ${group}`);
  await sql(`GRANT ALL ON orders TO ${group}`);
  const url = new URL(own);
  url.username = admin;
  url.password = 'correct-horse';
  url.search = '?sslmode=disable';
  return {
    url: url.href,
    admin,
    group,
    sql,
    users: async () =>
      (
        await sql(
          `SELECT r.rolname FROM pg_roles r JOIN pg_auth_members m ON m.member = r.oid
           JOIN pg_roles g ON g.oid = m.roleid WHERE g.rolname = $1 AND r.rolname LIKE 'sr\\_%'`,
          [group],
        )
      ).map(({ rolname }) => String(rolname)),
    close: () => client.end(),
  };
}

/** What an issuer is created from, in a database that the service may not reach unless it is given one. */
export function issuerBody(vault_id: string, name: string, target?: Pick<Target, 'url' | 'group'>) {
  return {
    vault_id,
    name,
    provider: 'postgresql',
    connection: { url: target?.url ?? 'postgres://admin:password@127.0.0.1:2/app' },
    template: { member_of: [target?.group ?? 'app'] },
  };
}

export interface LeaseWorld {
  readonly service: Service;
  readonly target: Target;
  readonly vaultId: string;
  readonly issuerId: string;
  /** An access key of the vault. */
  readonly key: string;
  readonly keyId: string;
  made(path: string, body: unknown): Promise<Answer['body']>;
  accessKey(more?: object): Promise<{ id: string; token: string }>;
  /** A request of an access key to its vault. */
  ask(method: string, path: string, body?: unknown, key?: string): Promise<Answer>;
  issue(ttl?: number, key?: string): Promise<Issued>;
  state(id: string): Promise<string>;
  /** Whether the credential opens a session. */
  opens(url: string): Promise<boolean>;
  ended(id: string): Promise<void>;
  close(): Promise<void>;
}

export interface Issued {
  readonly lease: { readonly id: string; readonly expires_at: string; readonly renewable: boolean };
  readonly data: { readonly username: string; readonly password: string; readonly url: string };
}

export async function startLeases(engine: EngineName, threads = false): Promise<LeaseWorld> {
  const target = await startTarget();
  const service = await startService({ engine, flags: loopbackWebhooks, threads });
  const made = async (path: string, body: unknown) => {
    const { status, text, body: answer } = await service.call('POST', path, body);
    assert.equal(status, 200, text);
    return answer;
  };
  const { id: vaultId } = await made('/v1/vaults', { name: 'production' });
  const accessKey = (more: object = {}) =>
    made('/v1/access-keys', { vault_id: vaultId, name: `key ${randomBytes(4).toString('hex')}`, ...more });
  const { id: issuerId } = await made('/v1/issuers', issuerBody(vaultId, 'app-db', target));
  const { id: keyId, token: key } = await accessKey();
  const ask = (method: string, path: string, body?: unknown, token = key) =>
    callService(service.url, method, `/api/v1/vaults/${vaultId}/${path}`, body, token);
  const state = async (id: string) => (await service.call('GET', `/v1/leases/${id}`)).body.state as string;
  return {
    service,
    target,
    vaultId,
    issuerId,
    key,
    keyId,
    made,
    accessKey,
    ask,
    issue: async (ttl, token) => {
      const body = { name: 'app-db', ...(ttl === undefined ? {} : { ttl }) };
      const { status, text, body: answer } = await ask('POST', 'leases', body, token);
      assert.equal(status, 200, text);
      return answer;
    },
    state,
    opens: async url => {
      const client = new pg.Client(url);
      client.on('error', () => {});
      try {
        await client.connect();
        const { rows } = await client.query('SELECT count(*)::int AS orders FROM public.orders');
        return rows[0].orders > 0;
      } catch {
        return false;
      } finally {
        await client.end().catch(() => {});
      }
    },
    ended: id => eventually(`the lease ${id} is gone`, async () => (await state(id)) === 'gone'),
    close: async () => {
      await service.stop();
      await target.close();
    },
  };
}
