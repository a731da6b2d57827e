/**
 * Passwords of PostgreSQL users, set with the connection of an issuer. With two users, the one that the value doesn't
 * name gets a new password and the value then names it. With one, its password changes: between that and the moment the
 * new value is stored the old one doesn't open new sessions, and if the new one doesn't work the old one is set again.
 * A password is put only into an address of the server that the plan's author saw, and tried at the issuer's.
 */
import { invalid } from '../../contract/errors.ts';
import type { RotationBy } from '../../contract/rotations.ts';
import { endPassword, newPassword, setPassword } from '../../issuers/postgresql-passwords.ts';
import { targetOf } from '../issuing/connection-urls.ts';
import { openIssuer } from '../issuing/issuer-content.ts';
import type { Dial } from '../issuing/providers.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Method, nothingMade, RotationFailure, RotationImpossible, type Task } from './methods.ts';

type Postgresql = Extract<RotationBy, { kind: 'postgresql' }>;

export function postgresqlValuesWith({ store, stamps }: Parts, dial: Dial): Method<Postgresql> {
  async function targetFor({ row, vault, by }: Task<Postgresql>) {
    const found = await store.issuers.byId(row.organization_id, by.issuer_id);
    if (found === undefined || found.vault_id !== row.vault_id)
      throw new RotationImpossible('The issuer was deleted');
    const issuer = stamps.issuer.believe(found);
    return targetOf('postgresql', openIssuer(vault.sealer, issuer).connection);
  }

  async function withSession<T>(
    task: Task<Postgresql>,
    work: (session: Awaited<ReturnType<Dial['postgresql']>>) => Promise<T>,
  ): Promise<T> {
    const session = await dial.postgresql(await targetFor(task));
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }

  async function tryLogin(task: Task<Postgresql>, value: string, username: string): Promise<void> {
    const target = await targetFor(task);
    const url = addressIn(value);
    const database = (url && decoded(url.pathname.slice(1))) || target.database;
    await (await dial.postgresql({ ...target, database, username, password: passwordOf(value) })).close();
  }

  return {
    draft(task) {
      const username = nextUser(task);
      return { ...nothingMade, username, value: addressWith(task, username, newPassword()) };
    },

    create: async (_, draft) => draft,

    async tryOut(task, { value, username }) {
      const set = (password: string) =>
        withSession(task, session => setPassword(session, username!, password));
      await set(passwordOf(value!));
      try {
        await tryLogin(task, value!, username!);
      } catch (error) {
        // Of a single user, the value that is in use has just been replaced.
        if (userOf(task, task.current) === username) await set(passwordOf(task.current)).catch(() => {});
        throw error;
      }
    },

    async remove(task, { value }) {
      const { usernames } = task.by;
      const username = value === null ? undefined : userOf(task, value);
      if (username === undefined || usernames.length < 2 || !usernames.includes(username)) return;
      // Someone wrote a value that names this user.
      if (userOf(task, task.current) === username) return;
      await withSession(task, session => endPassword(session, username));
    },
  };
}

/** The server that an address leads to; null for a value that is only a password. */
export function serverIn(value: string): string | null {
  const url = addressIn(value);
  return url?.host.toLowerCase() ?? null;
}

/** Refuses a value in which the users of the plan can't take turns. */
export function checkAddress({ usernames }: Postgresql, value: string): void {
  if (usernames.length > 1 && addressIn(value) === null)
    throw invalid('rotation', 'requires a value such as postgres://user:password@host/database');
}

function addressIn(value: string): URL | null {
  const url = URL.parse(value);
  return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && url.hostname !== '' ? url : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new RotationFailure('The value is not a valid address');
  }
}

function userOf({ by }: Pick<Task<Postgresql>, 'by'>, value: string): string {
  const url = addressIn(value);
  return url === null ? by.usernames[0]! : decoded(url.username);
}

function passwordOf(value: string): string {
  const url = addressIn(value);
  return url === null ? value : decoded(url.password);
}

function nextUser(task: Task<Postgresql>): string {
  const [first, second] = task.by.usernames;
  if (second === undefined) {
    if (userOf(task, task.current) !== first)
      throw new RotationFailure('The value names another user than the rotation');
    // Otherwise it could not be set again if the new one doesn't work.
    if (!/^[!-~]+$/.test(passwordOf(task.current)))
      throw new RotationFailure('The current password contains characters other than printable ASCII');
    return first!;
  }
  return userOf(task, task.current) === first ? second : first!;
}

function addressWith({ current, planned }: Task<Postgresql>, username: string, password: string): string {
  const url = addressIn(current);
  if (serverIn(current) !== planned.server)
    throw new RotationFailure(
      'The value leads to another server than when the rotation was set: set it again',
    );
  if (url === null) return password;
  url.username = encodeURIComponent(username);
  url.password = password;
  return url.href;
}
