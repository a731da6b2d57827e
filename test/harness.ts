/** A whole service, through its real doors: real sockets, a real store, and a clock that the test chooses. */
import { cp, rm } from 'node:fs/promises';
import { wallClock } from '../src/base/clock.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import type { Plan } from '../src/contract/access.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { type Running, type ServeParts, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { atTheLatest, withTheProcess } from './ending.ts';
import type { EngineName } from './engines.ts';
import { oneThread } from './one-thread.ts';
import { databaseLike, databaseWithTables, dataFolder } from './postgres.ts';

export { type EngineName, engines, enginesInTurn } from './engines.ts';

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
  /** Where metrics are served; null where they are not. */
  readonly metricsUrl: string | null;
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
  /** With something done to its data while it is stopped. */
  restartAfter(change: () => unknown): Promise<void>;
  stop(): Promise<void>;
}

/** Suites that sign in hundreds of times would do little else; what the product takes has a test of its own. */
export const cheapPasswords = { memory: 64, passes: 1, parallelism: 1 };

/** What tests make webhooks of must not leave this machine. */
export const loopbackWebhooks = [
  ...['--allow-private-webhooks', '127.0.0.0/8'],
  ...['--allow-private-leases', '127.0.0.0/8'],
];

/**
 * What the service takes for the machine's clock. The service's time never goes back, so a test that sets it back
 * would go on in a minute that lies still, where failures and limits pile up: that is refused, unless it is the point.
 */
export class Clock {
  /** For the service, in all of its threads: how far it is ahead, and where it stands still (see `wallClock`). */
  readonly shared = new SharedArrayBuffer(16);
  readonly #settings = new Float64Array(this.shared);
  readonly now = wallClock(this.shared);

  constructor() {
    this.#settings[1] = Number.NaN;
  }

  /** Stands still at this moment, which would be over for one who asks for it first. */
  stand(): void {
    this.#settings[1] = this.now();
  }

  /** Stands still from here on. */
  standAt(time: number): void {
    this.#goOn(time);
    this.#settings[1] = time;
  }

  /** Stands still at the beginning of a minute in which nothing was asked yet: failures and rates count by minutes. */
  standInNewMinute(): void {
    this.standAt((Math.floor(this.now() / 60_000) + 2) * 60_000);
  }

  /** Lets so much time pass at once, whether it runs or stands. */
  pass(milliseconds: number): void {
    this.#goOn(this.now() + milliseconds);
    const [ahead, standing] = this.#settings;
    if (Number.isNaN(standing)) this.#settings[0] = ahead! + milliseconds;
    else this.#settings[1] = standing! + milliseconds;
  }

  /** Goes on from where it stands: what was ahead stays ahead. */
  run(): void {
    this.#settings[0] = this.now() - Date.now();
    this.#settings[1] = Number.NaN;
  }

  /** As a person or a time server would set a clock back. */
  setBack(milliseconds: number): void {
    this.run();
    this.#settings[0]! -= milliseconds;
  }

  #goOn(time: number): void {
    const now = this.now();
    if (time < now) throw new Error(`The clock would go back by ${now - time} ms.`);
  }
}

/** As much time really passes as the clock says, however far it is moved. */
export function timePassing(): () => number {
  let passed = 0;
  return () => {
    passed += 1e13;
    return passed;
  };
}

export interface ServiceOptions {
  readonly engine?: EngineName;
  readonly flags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly plan?: Plan;
  readonly limit?: number;
  readonly timeouts?: ServeParts['timeouts'];
  /** Each plane in a thread of its own, as the command starts them. */
  readonly threads?: boolean;
  /** How many threads read; with several, each plane has a thread of its own. */
  readonly readers?: number;
}

interface Data {
  readonly data: string;
  readonly databaseUrl: string | null;
  readonly place: readonly string[];
  readonly first: Made;
}

const made = new Map<EngineName, Promise<Data>>();
/** Two services with the same data would be taken for one: while a copy is served, others get data of their own. */
const served = new Set<EngineName>();

/** A copy of data with an organization in them, which each process makes once. */
async function copiedData(engine: EngineName): Promise<Data> {
  const { data: source, databaseUrl: url, first } = await sharedData(engine);
  const data = await dataFolder();
  await cp(source, data, { recursive: true });
  const databaseUrl = url === null ? null : await databaseLike(url);
  return { data, databaseUrl, place: placeOf(data, databaseUrl), first };
}

function sharedData(engine: EngineName): Promise<Data> {
  const known = made.get(engine);
  if (known !== undefined) return known;
  const making = makeData(engine, 'enterprise', 0);
  made.set(engine, making);
  withTheProcess(async () => rm((await making).data, { recursive: true, force: true }));
  return making;
}

async function makeData(engine: EngineName, plan: Plan, limit: number): Promise<Data> {
  const data = await dataFolder();
  const databaseUrl = engine === 'postgres' ? await databaseWithTables() : null;
  const place = placeOf(data, databaseUrl);
  return { data, databaseUrl, place, first: await makeOrganization(place, 'Test', plan, limit) };
}

function placeOf(data: string, databaseUrl: string | null): string[] {
  return ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { engine = 'sqlite', plan = 'enterprise', limit = 0 } = options;
  const isCopied = plan === 'enterprise' && limit === 0 && !served.has(engine);
  if (isCopied) served.add(engine);
  const { data, databaseUrl, place, first } = await (isCopied
    ? copiedData(engine)
    : makeData(engine, plan, limit));
  const clock = new Clock();
  const reports: string[] = [];
  const start = (flags = options.flags ?? loopbackWebhooks) => {
    const { readers = Number(process.env.STRONGROOM_READERS ?? 1) } = options;
    const isThreaded = options.threads === true || readers > 1;
    const served = [...place, '--port', '0', '--readers', String(readers), ...flags];
    const config = readConfig(serveOptions, served, options.environment ?? {});
    return serve(config, {
      movedClock: clock.shared,
      report: (line, requestId = '') => reports.push(`${requestId} ${line}`.trim()),
      timeouts: options.timeouts,
      passwordCosts: cheapPasswords,
      ...(isThreaded ? {} : oneThread),
    });
  };
  let running = await start();
  const replicas: Running[] = [];
  /** A start after it may have been refused. */
  let stopped = false;
  const stopFirst = async () => {
    if (!stopped) await running.stop();
    stopped = true;
  };
  return {
    ...first,
    get url() {
      return running.url;
    },
    place,
    data,
    databaseUrl,
    reports,
    get metricsUrl() {
      return running.metricsUrl;
    },
    get routes() {
      return new Set(running.routes);
    },
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
      const config = readConfig(serveOptions, place, {});
      const strongroom = await openStrongroom(config, false, clock.now, { elapsed: timePassing() });
      await strongroom.domain.retention.prune({ aged: strongroom.aged, days });
      await strongroom.close();
    },
    restart: async flags => {
      await stopFirst();
      running = await start(flags);
      stopped = false;
    },
    restartAfter: async change => {
      await stopFirst();
      await change();
      running = await start();
      stopped = false;
    },
    stop: atTheLatest(async () => {
      await Promise.all([stopFirst(), ...replicas.map(one => one.stop())]);
      await rm(data, { recursive: true, force: true });
      if (isCopied) served.delete(engine);
    }),
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
    const permit = await strongroom.domain.guard.admit(operator(id), 'api-keys:write');
    const { token } = await strongroom.domain.apiKeys.create(permit, { name: 'Owner', role: 'owner' });
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
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : text,
  };
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

/**
 * Waits until something holds that is promised within a second; how soon a machine under load gets there is not what is
 * tested. Names what did not hold: at the point of failure, the question alone says little.
 */
export async function eventually(what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 120_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 50));
  }
}
