/**
 * The store: all SQL, one set of queries for both engines. It sees sealed bytes, stamps and digests, never
 * plaintext, and it decides nothing: whether a row may be believed is for those who hold the keys.
 * Each noun offers reads, which run at once, and statements, which take effect in a unit.
 */
import { accounts } from './accounts.ts';
import { credentials } from './credentials.ts';
import { deliveries } from './deliveries.ts';
import type { ChangeListener, Commit, Engine } from './engine.ts';
import { limits } from './limits.ts';
import { logs } from './logs.ts';
import { organizations } from './organizations.ts';
import { outbox } from './outbox.ts';
import { overview } from './overview.ts';
import { requestLogs } from './request-logs.ts';
import { resources } from './resources.ts';
import { sessions } from './sessions.ts';
import { openSqlite, peekSqlite } from './sqlite.ts';
import { terms } from './terms.ts';
import { webhooks } from './webhooks.ts';

export interface Store {
  readonly engine: Engine['name'];
  readonly isSole: boolean;
  readonly organizations: ReturnType<typeof organizations>;
  readonly resources: ReturnType<typeof resources>;
  readonly credentials: ReturnType<typeof credentials>;
  readonly logs: ReturnType<typeof logs>;
  readonly requestLogs: ReturnType<typeof requestLogs>;
  readonly outbox: ReturnType<typeof outbox>;
  readonly webhooks: ReturnType<typeof webhooks>;
  readonly deliveries: ReturnType<typeof deliveries>;
  readonly limits: ReturnType<typeof limits>;
  readonly accounts: ReturnType<typeof accounts>;
  readonly overview: ReturnType<typeof overview>;
  readonly sessions: ReturnType<typeof sessions>;
  readonly terms: ReturnType<typeof terms>;
  readonly commit: Commit;
  onChange(listener: ChangeListener): void;
  hearsChanges(): boolean;
  ping(): Promise<void>;
  close(): Promise<void>;
}

export type Location =
  | { readonly engine: 'sqlite'; readonly path: string; readonly serves: boolean }
  | { readonly engine: 'postgres'; readonly url: string };

export async function openStore(location: Location): Promise<Store> {
  // The driver is loaded by those who need it: it is a tenth of an idle service's memory.
  const engine = await (location.engine === 'sqlite'
    ? openSqlite(location.path, location.serves)
    : (await import('./postgres.ts')).openPostgres(location.url));
  return {
    engine: engine.name,
    isSole: engine.isSole,
    organizations: organizations(engine),
    resources: resources(engine),
    credentials: credentials(engine),
    logs: logs(engine),
    requestLogs: requestLogs(engine),
    outbox: outbox(engine),
    webhooks: webhooks(engine),
    deliveries: deliveries(engine),
    limits: limits(engine),
    accounts: accounts(engine),
    overview: overview(engine),
    sessions: sessions(engine),
    terms: terms(engine),
    commit: engine.commit,
    onChange: engine.onChange,
    hearsChanges: engine.hearsChanges,
    ping: engine.ping,
    close: engine.close,
  };
}

/** A value of the deployment as it is stored, read without changing anything. Undefined before the first start. */
export async function peekMeta(location: Location, key: string): Promise<Uint8Array | undefined> {
  if (location.engine === 'sqlite') return peekSqlite(location.path, key);
  return (await import('./postgres.ts')).peekPostgres(location.url, key);
}
