/**
 * The providers, each joined with the way to its service. A session is opened for a piece of work and closed after it.
 * What fails is told apart: the service refused, or it can't be reached.
 */
import { randomBytes } from 'node:crypto';
import type { IssuerCheck } from '../../contract/issuers.ts';
import type { ProviderName } from '../../contract/names.ts';
import type { ServiceTarget } from '../../egress/judged-sockets.ts';
import type { OpenedPostgres } from '../../egress/postgres-sessions.ts';
import type { OpenedRedis } from '../../egress/redis-sessions.ts';
import { postgresql } from '../../issuers/postgresql.ts';
import { type IssuedData, type Provider, ProviderFailure } from '../../issuers/provider.ts';
import { redis } from '../../issuers/redis.ts';
import { targetOf, urlFor } from './connection-urls.ts';
import type { IssuerContent } from './issuer-content.ts';
import { templateOf } from './templates.ts';

type Open<Session> = (target: ServiceTarget) => Promise<Session>;

/** Opens sessions at the services of providers. */
export interface Dial {
  readonly postgresql: Open<OpenedPostgres>;
  readonly redis: Open<OpenedRedis>;
}

/** A provider with a session at its service. */
export interface Attached {
  check(): Promise<IssuerCheck>;
  issue(account: string, until: number): Promise<IssuedData>;
  renew(account: string, until: number): Promise<boolean>;
  revoke(account: string): Promise<void>;
  close(): Promise<void>;
}

interface Joined {
  account(): string;
  /** Throws if the connection is not one of this provider's. */
  judge(content: IssuerContent): void;
  attach(dial: Dial, content: IssuerContent): Promise<Attached>;
}

export const providers: Readonly<Record<ProviderName, Joined>> = {
  postgresql: joined('postgresql', postgresql, (dial, target) => dial.postgresql(target)),
  redis: joined('redis', redis, (dial, target) => dial.redis(target)),
};

interface Closable {
  close(): Promise<void>;
}

function joined<P extends ProviderName, Session>(
  name: P,
  provider: Provider<Session, ReturnType<typeof templateOf<P>>>,
  open: (dial: Dial, target: ServiceTarget) => Promise<Session & Closable>,
): Joined {
  return {
    account: () => provider.account(randomBytes),
    judge: content => {
      targetOf(name, content.connection);
      templateOf(name, content.template);
    },
    attach: async (dial, { connection, template: given }) => {
      const template = templateOf(name, given);
      const session = await open(dial, targetOf(name, connection));
      return {
        check: async () => {
          const problems = await provider.check(session, template);
          return { ok: problems.length === 0, problems };
        },
        issue: async (username, until) => {
          const { password } = await provider.issue(session, template, username, until);
          return { username, password, url: urlFor(name, connection, { username, password }) };
        },
        renew: (account, until) => provider.renew(session, account, until),
        revoke: account => provider.revoke(session, template, account),
        close: () => session.close(),
      };
    },
  };
}

/** Runs the work with a session, and closes it in every case. */
export async function withAttached<T>(
  dial: Dial,
  provider: string,
  content: IssuerContent,
  work: (attached: Attached) => Promise<T>,
): Promise<T> {
  const attached = await providers[provider as ProviderName].attach(dial, content);
  try {
    return await work(attached);
  } finally {
    await attached.close();
  }
}

/** Why something failed, for people who may change the issuer. It contains nothing that is secret. */
export function reasonOf(error: unknown): string {
  if (error instanceof ProviderFailure) return error.message;
  return `The server can’t be reached: ${unreachable(error)}`;
}

/** Why something failed, for holders of access keys. */
export function codeOf(error: unknown): string {
  return error instanceof ProviderFailure ? `refused with ${error.code}` : unreachable(error);
}

function unreachable(error: unknown): string {
  const { code, message } = error as Error & { code?: unknown };
  if (typeof code === 'string' && /^[A-Z_]+$/.test(code)) return code;
  return message === 'the address is not allowed' ? message : 'the connection failed';
}
