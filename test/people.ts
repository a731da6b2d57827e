/** People at their browsers: a cookie jar, the headers that a browser sends by itself, and a fresh service to visit. */
import { rm } from 'node:fs/promises';
import type { PasswordCosts } from '../src/domain/sign-in/passwords.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { atTheLatest } from './ending.ts';
import { type Answer, Clock, callService, cheapPasswords, type EngineName } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { databaseWithTables, dataFolder } from './postgres.ts';

export { fromBase32 } from './authenticator.ts';

export const cookieName = '__Host-strongroom';
export const password = 'correct horse battery staple';

/** Sends what a browser sends from a page of the service itself. */
export class Browser {
  readonly #url: () => string;
  readonly cookies = new Map<string, string>();
  /** The last `Set-Cookie` headers, as they were sent. */
  setCookies: string[] = [];

  constructor(url: string | (() => string)) {
    this.#url = typeof url === 'string' ? () => url : url;
  }

  get url(): string {
    return this.#url();
  }

  get cookie(): string | undefined {
    return this.cookies.get(cookieName);
  }

  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    key: string | null = null,
  ): Promise<Answer> {
    const send = () => this.once(method, path, body, headers, key);
    return this.#confirmed(await send(), path, send);
  }

  /** A request of which nobody is there to confirm who they are: what a thief of the session could send. */
  async once(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    key: string | null = null,
  ): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const own = { origin: this.url, 'sec-fetch-site': 'same-origin' };
    const answer = await callService(this.url, method, path, body, key, {
      ...(method === 'GET' ? {} : own),
      ...(cookie === '' ? {} : { cookie }),
      ...headers,
    });
    this.setCookies = answer.headers.getSetCookie();
    for (const line of this.setCookies) this.#keep(line);
    return answer;
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<Answer> {
    return this.call('POST', path, body, headers);
  }

  get(path: string): Promise<Answer> {
    return this.call('GET', path);
  }

  /** What the dashboard does: where a session alone is not enough, its person proves who they are, and it is sent again. */
  async #confirmed(refused: Answer, path: string, again: () => Promise<Answer>): Promise<Answer> {
    const isGiven = path.startsWith('/v1/') || path === '/auth/device/approve';
    const isAsked = isGiven && refused.body?.error?.code === 'PROOF_REQUIRED';
    return isAsked && (await this.prove()).status === 200 ? again() : refused;
  }

  signIn(email: string, secret = password, code?: string): Promise<Answer> {
    return this.post('/auth/password', { email, password: secret, ...(code === undefined ? {} : { code }) });
  }

  /** Proves once more who is signed in, as changing a factor takes it. */
  prove(proof: Record<string, unknown> = { password }): Promise<Answer> {
    return this.post('/auth/proof', proof);
  }

  #keep(line: string): void {
    const [pair = ''] = line.split(';');
    const [name = '', value = ''] = pair.split('=');
    if (/max-age=0(;|$)/i.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

export interface EmptyService {
  readonly url: string;
  readonly setupUrl: string | null;
  readonly setupToken: string;
  readonly clock: Clock;
  readonly reports: string[];
  /** Every route that was registered, as `POST /auth/proof`. */
  readonly routes: ReadonlySet<string>;
  /** The flags it runs with, for a command beside it. */
  readonly place: readonly string[];
  readonly databaseUrl: string | null;
  readonly data: string;
  browser(): Browser;
  replica(): Promise<Running>;
  restart(): Promise<void>;
  /** Ends the process and leaves its data; `restart` serves them again. */
  halt(): Promise<void>;
  /** Its folder is removed; whoever wants something of it takes that in between. */
  stop(take?: () => Promise<void>): Promise<void>;
}

/** A service that nobody has set up yet. */
export async function startEmpty(
  engine: EngineName,
  flags: readonly string[] = [],
  environment: Record<string, string> = {},
  costs: PasswordCosts = cheapPasswords,
): Promise<EmptyService> {
  const data = await dataFolder();
  const databaseUrl = engine === 'postgres' ? await databaseWithTables() : null;
  const place = ['--data', data, ...(databaseUrl === null ? [] : ['--database-url', databaseUrl])];
  const clock = new Clock();
  const reports: string[] = [];
  const start = () => {
    const config = readConfig(serveOptions, [...place, '--port', '0', ...flags], environment);
    return serve(config, {
      movedClock: clock.shared,
      report: (line, requestId = '') => reports.push(`${requestId} ${line}`.trim()),
      passwordCosts: costs,
      ...oneThread,
    });
  };
  let running = await start();
  let isHalted = false;
  const replicas: Running[] = [];
  const halt = async () => {
    if (!isHalted) await running.stop();
    isHalted = true;
  };
  let taking: (() => Promise<void>) | undefined;
  const stopOnce = atTheLatest(async () => {
    await Promise.all([halt(), ...replicas.map(one => one.stop())]);
    await taking?.();
    await rm(data, { recursive: true, force: true });
  });
  return {
    get url() {
      return running.url;
    },
    get setupUrl() {
      return running.setupUrl;
    },
    get setupToken() {
      return running.setupUrl!.split('#')[1]!;
    },
    clock,
    reports,
    get routes() {
      return new Set(running.routes);
    },
    place,
    databaseUrl,
    data,
    browser: () => new Browser(() => running.url),
    replica: async () => {
      const replica = await start();
      replicas.push(replica);
      return replica;
    },
    halt,
    restart: async () => {
      await halt();
      running = await start();
      isHalted = false;
    },
    stop: take => {
      taking = take;
      return stopOnce();
    },
  };
}

/** Sets the service up, with its owner signed in. */
export async function setUp(service: EmptyService, email = 'owner@example.org'): Promise<Browser> {
  const browser = service.browser();
  const answer = await browser.post('/auth/setup', {
    token: service.setupToken,
    email,
    password,
    organization: 'Acme',
  });
  if (answer.status !== 200) throw new Error(answer.text);
  return browser;
}

/** Invites somebody, who joins and is signed in. */
export async function invite(
  service: EmptyService,
  owner: Browser,
  email: string,
  role: string,
): Promise<{ browser: Browser; id: string }> {
  const { body: member } = await owner.post('/v1/members', { email, role });
  const browser = service.browser();
  const answer = await browser.post('/auth/invitation/accept', { token: member.token, password });
  if (answer.status !== 200) throw new Error(answer.text);
  return { browser, id: member.id };
}
