/** A whole service, through its real doors: real sockets, a real store, and a clock that the test chooses. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operatorOf } from '../src/cli/operator.ts';
import { readConfig, serveOptions } from '../src/config.ts';
import type { Plan } from '../src/contract/access.ts';
import { pruneStep } from '../src/logs/retention.ts';
import { openStrongroom, type Strongroom } from '../src/open.ts';
import { type Running, type ServeParts, serve } from '../src/serve.ts';
import { freshDatabase } from './postgres.ts';

export const engines = ['sqlite', 'postgres'] as const;
export type EngineName = (typeof engines)[number];

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
  readonly text: string;
}

export interface Made {
  readonly organizationId: string;
  readonly key: string;
}

export interface Service extends Made {
  readonly url: string;
  /** The flags it runs with, for starting another replica or a command beside it. */
  readonly place: readonly string[];
  readonly data: string;
  readonly databaseUrl: string | null;
  /** What the operator was told. */
  readonly reports: string[];
  /** Every route that was registered, as `GET /v1/vaults/:id`. */
  readonly routes: ReadonlySet<string>;
  readonly clock: Clock;
  /** Calls with the owner's key, unless told otherwise; `null` sends none. */
  call(
    method: string,
    path: string,
    body?: unknown,
    key?: string | null,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  organization(name: string, plan?: Plan, limit?: number): Promise<Made>;
  /** Another process over the same data (PostgreSQL only). */
  replica(): Promise<Running>;
  /** One step of retention, as the service takes it once a minute. */
  prune(days: number): Promise<void>;
  /** With other flags, where some are given. */
  restart(flags?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

/** What tests make webhooks of must not leave this machine. */
export const loopbackWebhooks = ['--allow-private-webhooks', '127.0.0.0/8'];

export class Clock {
  offset = 0;
  fixed: number | null = null;
  readonly now = (): number => this.fixed ?? Date.now() + this.offset;
}

export interface ServiceOptions {
  readonly engine?: EngineName;
  readonly flags?: readonly string[];
  readonly plan?: Plan;
  readonly limit?: number;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const data = await mkdtemp(join(tmpdir(), 'strongroom-test-'));
  const databaseUrl = options.engine === 'postgres' ? await freshDatabase() : null;
  const place = ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
  const clock = new Clock();
  const reports: string[] = [];
  const routes = new Set<string>();
  const start = (flags = options.flags ?? loopbackWebhooks) => {
    const config = readConfig(serveOptions, [...place, '--port', '0', ...flags], {});
    const onRoute: ServeParts['onRoute'] = ({ method, url }) => {
      for (const one of [method].flat()) routes.add(`${one} ${url}`);
    };
    return serve(config, { now: clock.now, report: line => reports.push(line), onRoute });
  };
  const first = await makeOrganization(place, 'Test', options.plan ?? 'enterprise', options.limit ?? 0);
  let running = await start();
  const replicas: Running[] = [];
  return {
    ...first,
    get url() {
      return running.url;
    },
    place,
    data,
    databaseUrl,
    reports,
    routes,
    clock,
    call: (method, path, body, key = first.key, headers = {}) =>
      callService(running.url, method, path, body, key, headers),
    organization: (name, plan = 'enterprise', limit = 0) => makeOrganization(place, name, plan, limit),
    replica: async () => {
      const replica = await start();
      replicas.push(replica);
      return replica;
    },
    prune: async days => {
      // Whoever reads the log has the service file what it has not filed yet; its own retention does so too.
      await callService(running.url, 'GET', '/v1/request-logs', undefined, first.key);
      const strongroom = await openStrongroom(readConfig(serveOptions, place, {}), false, clock.now);
      await pruneStep({ ...strongroom, ledger: strongroom.domain.ledger, days });
      await strongroom.close();
    },
    restart: async flags => {
      await running.stop();
      running = await start(flags);
    },
    stop: async () => {
      await Promise.all([running, ...replicas].map(one => one.stop()));
      await rm(data, { recursive: true, force: true });
    },
  };
}

/** What `strongroom setup` does, in this process. */
export async function makeOrganization(
  place: readonly string[],
  name: string,
  plan: Plan,
  enterpriseLimit: number,
): Promise<Made> {
  const config = readConfig(serveOptions, place, {});
  const strongroom = await openStrongroom(config, false);
  try {
    const operator = (id: string) => operatorOf(id, strongroom.newId);
    const { id } = await strongroom.domain.organizations.create(operator, name, { plan, enterpriseLimit });
    const { token } = await strongroom.domain.apiKeys.create(operator(id), { name: 'Owner', role: 'owner' });
    return { organizationId: id, key: token! };
  } finally {
    await strongroom.close();
  }
}

export async function callService(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  key: string | null = null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = /^application\/json(;|$)/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : text };
}

/** Runs something in this process over a service's data, as a command beside it would. */
export async function beside<T>(
  service: Pick<Service, 'place'>,
  run: (strongroom: Strongroom) => Promise<T>,
): Promise<T> {
  const strongroom = await openStrongroom(readConfig(serveOptions, service.place, {}), false);
  try {
    return await run(strongroom);
  } finally {
    await strongroom.close();
  }
}

/** What takes effect within a second must; a machine under load is given a little more. */
export async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 3_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error('it did not take effect in time');
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
