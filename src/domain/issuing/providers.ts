/**
 * The providers, each joined with the way to its service. A session is opened for a piece of work and closed after it.
 * What fails is told apart: the service refused, or it can't be reached.
 */
import { randomBytes } from 'node:crypto';
import type { IssuerCheck } from '../../contract/issuers.ts';
import type { ProviderName } from '../../contract/names.ts';
import type { OpenedPostgres, PostgresTarget } from '../../egress/postgres-sessions.ts';
import { postgresql } from '../../issuers/postgresql.ts';
import { type IssuedData, ProviderFailure } from '../../issuers/provider.ts';
import { type IssuerContent, targetOf, urlFor } from './issuer-content.ts';

/** Opens sessions at the services of providers. */
export interface Dial {
  postgresql(target: PostgresTarget): Promise<OpenedPostgres>;
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
  postgresql: {
    account: () => postgresql.account(randomBytes),
    judge: ({ connection }) => void targetOf(connection),
    attach: async (dial, { connection, template }) => {
      const session = await dial.postgresql(targetOf(connection));
      return {
        check: async () => {
          const problems = await postgresql.check(session, template);
          return { ok: problems.length === 0, problems };
        },
        issue: async (account, until) => {
          const { password } = await postgresql.issue(session, template, account, until);
          return { username: account, password, url: urlFor(connection, account, password) };
        },
        renew: (account, until) => postgresql.renew(session, account, until),
        revoke: account => postgresql.revoke(session, template, account),
        close: () => session.close(),
      };
    },
  },
};

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
