/**
 * Redis and Valkey: a user of the access control list for each lease. The server gets the digest of its password. Rules
 * name keys, channels and commands only, and no user may administer the server, whatever they say: one that could create
 * other users would outlive its lease. Users don't end by themselves there. If the server keeps its list in a file, each
 * change is saved to it, so that a restart brings no removed user back.
 */
import { hash, randomBytes } from 'node:crypto';
import { newAccount, newPassword } from './accounts.ts';
import { type Problem, type Provider, ProviderFailure, Remains } from './provider.ts';

export interface RedisSession {
  /** Who is signed in. */
  readonly username: string;
  command(...args: readonly string[]): Promise<unknown>;
}

export interface RedisTemplate {
  readonly rules: readonly string[];
}

/** `~keys`, `%R~keys`, `&channels`, and commands, subcommands and categories to allow or refuse. */
const rule = /^(?:(?:~|%(?:R|W|RW)~|&)[^\s\0]+|[+-]@?[a-z][a-z0-9._-]*(?:\|[a-z0-9._-]+)?)$/i;
const needed = ['acl|setuser', 'acl|getuser', 'acl|deluser', 'acl|save'];

/** Why a rule is not one of those that a template may have; null if it is. */
export function refusedRule(text: string): string | null {
  if (!rule.test(text)) return 'must be rules such as ~app:*, &news, +@read, -@dangerous or +client|id';
  return null;
}

export const redis: Provider<RedisSession, RedisTemplate> = {
  renewable: true,
  account: newAccount,

  async check(session, template) {
    const account = newAccount(randomBytes);
    try {
      await create(session, template, account, newPassword());
      await session.command('ACL', 'GETUSER', account);
      await removed(session, account);
      return [];
    } catch (error) {
      await removed(session, account).catch(() => {});
      return [problemFrom(error, session.username)];
    }
  },

  async issue(session, template, account) {
    const password = newPassword();
    await create(session, template, account, password);
    return { password };
  },

  /** There is no end to move: the service itself ends the user. */
  renew: async (session, account) => (await session.command('ACL', 'GETUSER', account)) !== null,

  /** Removing a user also ends its connections. */
  revoke: (session, _, account) => removed(session, account),
};

async function create(
  session: RedisSession,
  { rules }: RedisTemplate,
  account: string,
  password: string,
): Promise<void> {
  const digest = `#${hash('sha256', password)}`;
  await session.command('ACL', 'SETUSER', account, 'reset', digest, ...rules, '-@admin', 'on');
  await save(session);
}

async function removed(session: RedisSession, account: string): Promise<void> {
  await session.command('ACL', 'DELUSER', account);
  try {
    await save(session);
  } catch (error) {
    throw new Remains(error);
  }
}

/** A server without a file for its list forgets every user when it is restarted. */
async function save(session: RedisSession): Promise<void> {
  try {
    await session.command('ACL', 'SAVE');
  } catch (error) {
    if (!(error instanceof ProviderFailure && /not configured to use an ACL file/i.test(error.message)))
      throw error;
  }
}

function problemFrom(error: unknown, admin: string): Problem {
  if (error instanceof Remains) return problemFrom(error.cause, admin);
  if (!(error instanceof ProviderFailure)) throw error;
  if (error.code === 'NOPERM')
    return {
      problem: 'The user of the connection can’t create and remove users',
      statement: `ACL SETUSER ${admin} ${needed.map(command => `+${command}`).join(' ')}`,
    };
  return { problem: `A user could not be created: ${error.message}`, statement: null };
}
