/**
 * PostgreSQL: a user for each lease, who is a member of the template's roles and is granted nothing itself, because
 * grants would have to be revoked object by object. Its password is sent as a verifier. The database ends the user by
 * itself (VALID UNTIL) if nobody else does. Objects that it creates belong to the role, if there is only one.
 */
import { randomBytes } from 'node:crypto';
import { newAccount, newPassword } from './accounts.ts';
import type { Problem, Provider } from './provider.ts';
import { ProviderFailure, Remains } from './provider.ts';
import { scramVerifier } from './scram.ts';

export interface Row {
  readonly [column: string]: unknown;
}

/** A connection to one database of a server. */
export interface PostgresSession {
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** Runs the work on a connection to another database of the same server. */
  within<T>(database: string, work: (session: Pick<PostgresSession, 'query'>) => Promise<T>): Promise<T>;
}

export interface PostgresTemplate {
  readonly member_of: readonly string[];
  readonly connection_limit?: number | undefined;
}

type Session = PostgresSession;

const saltBytes = 16;
/** The version with separate rights to inherit from a role and to become it. */
const withSet = 160_000;
const undefinedObject = '42704';

export const postgresql: Provider<Session, PostgresTemplate> = {
  renewable: true,

  account: newAccount,

  check: problemsOf,

  async issue(session, template, account, until) {
    const password = newPassword();
    const verifier = await scramVerifier(password, randomBytes(saltBytes));
    await inTransaction(session, async () => {
      for (const text of creation(template, account, { verifier, until })) await session.query(text);
    });
    return { password };
  },

  async renew(session, account, until) {
    const user = identifier(account);
    try {
      await session.query(`ALTER ROLE ${user} VALID UNTIL ${literal(new Date(until).toISOString())}`);
      return true;
    } catch (error) {
      if (error instanceof ProviderFailure && error.code === undefinedObject) return false;
      throw error;
    }
  },

  async revoke(session, template, account) {
    const [found] = await session.query('SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1', [account]);
    if (found === undefined) return;
    await disable(session, account, found.oid);
    try {
      await remove(session, template, account, found.oid);
    } catch (error) {
      throw new Remains(error);
    }
  },
};

function creation(
  { member_of: roles, connection_limit: limit }: PostgresTemplate,
  account: string,
  { verifier, until }: { verifier: string; until: number },
): string[] {
  const user = identifier(account);
  const most = limit === undefined ? '' : ` CONNECTION LIMIT ${Number(limit)}`;
  const valid = `VALID UNTIL ${literal(new Date(until).toISOString())}`;
  const members = roles.map(identifier).join(', ');
  return [
    `CREATE ROLE ${user} LOGIN INHERIT PASSWORD ${literal(verifier)} ${valid}${most} IN ROLE ${members}`,
    ...(roles.length === 1 ? [`ALTER ROLE ${user} SET role = ${literal(roles[0]!)}`] : []),
  ];
}

/** Takes all access away, before anything that may fail. */
async function disable(session: Session, account: string, oid: unknown): Promise<void> {
  const user = identifier(account);
  await session.query(`ALTER ROLE ${user} NOLOGIN VALID UNTIL 'epoch'`);
  const [own] = await session.query('SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user');
  // Others than a superuser end the sessions of roles only that they are members of.
  if (own?.rolsuper !== true) await session.query(`GRANT ${user} TO CURRENT_USER`);
  await endSessions(session, oid);
}

async function endSessions(session: Session, oid: unknown): Promise<void> {
  await session.query(
    'SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE usesysid = $1',
    [oid],
  );
}

async function remove(
  session: Session,
  { member_of: [first] }: PostgresTemplate,
  account: string,
  oid: unknown,
): Promise<void> {
  const user = identifier(account);
  const places = await session.query(
    `SELECT DISTINCT d.datname FROM pg_catalog.pg_shdepend s
     JOIN pg_catalog.pg_database d ON d.oid = s.dbid OR (s.dbid = 0 AND d.datname = pg_catalog.current_database())
     WHERE s.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass AND s.refobjid = $1`,
    [oid],
  );
  for (const { datname } of places) {
    await session.within(String(datname), async ({ query }) => {
      await query(`REASSIGN OWNED BY ${user} TO ${identifier(first!)}`);
      await query(`DROP OWNED BY ${user}`);
    });
  }
  // One that was being opened when the others ended.
  await endSessions(session, oid);
  await session.query(`DROP ROLE IF EXISTS ${user}`);
}

async function problemsOf(session: Session, template: PostgresTemplate): Promise<Problem[]> {
  const [own] = await session.query(
    `SELECT rolname, rolsuper, rolcreaterole, pg_catalog.current_setting('server_version_num')::int AS version
     FROM pg_catalog.pg_roles WHERE rolname = current_user`,
  );
  const admin = identifier(String(own!.rolname));
  const problems: Problem[] = [];
  if (own!.rolsuper !== true && own!.rolcreaterole !== true)
    problems.push({
      problem: 'The user of the connection can’t create users',
      statement: `ALTER ROLE ${admin} CREATEROLE;`,
    });
  for (const role of template.member_of) {
    const problem = await problemWith(session, role, { admin, version: Number(own!.version) });
    if (problem !== null) problems.push(problem);
  }
  return problems.length > 0 ? problems : tried(session, template);
}

async function problemWith(
  session: Session,
  role: string,
  { admin, version }: { admin: string; version: number },
): Promise<Problem | null> {
  const [found] = await session.query(
    `SELECT rolsuper, pg_catalog.pg_has_role(current_user, oid, 'MEMBER WITH ADMIN OPTION') AS gives,
     pg_catalog.pg_has_role(current_user, oid, $2) AS becomes
     FROM pg_catalog.pg_roles WHERE rolname = $1`,
    [role, version >= withSet ? 'SET' : 'MEMBER'],
  );
  const name = identifier(role);
  if (found === undefined)
    return { problem: `The role ${role} doesn’t exist`, statement: `CREATE ROLE ${name} NOLOGIN;` };
  if (found.rolsuper === true)
    return { problem: `The role ${role} is a superuser; its members could do anything`, statement: null };
  if (found.gives === true && found.becomes === true) return null;
  const how = version >= withSet ? 'WITH ADMIN TRUE, INHERIT TRUE, SET TRUE' : 'WITH ADMIN OPTION';
  return {
    problem: `The user of the connection can’t make others members of ${role}`,
    statement: `GRANT ${name} TO ${admin} ${how};`,
  };
}

/** Creates a user and removes it again, in a transaction that is rolled back. */
async function tried(session: Session, template: PostgresTemplate): Promise<Problem[]> {
  const account = postgresql.account(randomBytes);
  const verifier = await scramVerifier('probe', randomBytes(saltBytes));
  try {
    await session.query('BEGIN');
    for (const text of creation(template, account, { verifier, until: Date.now() }))
      await session.query(text);
    await session.query(`DROP ROLE ${identifier(account)}`);
    return [];
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return [{ problem: `A user could not be created: ${error.message}`, statement: null }];
  } finally {
    await session.query('ROLLBACK');
  }
}

async function inTransaction(session: Session, work: () => Promise<void>): Promise<void> {
  await session.query('BEGIN');
  try {
    await work();
  } catch (error) {
    await session.query('ROLLBACK').catch(() => {});
    throw error;
  }
  await session.query('COMMIT');
}

/** Quoted, so that it can only be a name. */
export function identifier(name: string): string {
  if (name.includes('\0')) throw new Error('a name can’t contain a zero character');
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quoted, so that it can only be a text, whatever the server's setting for backslashes. */
export function literal(text: string): string {
  if (text.includes('\0')) throw new Error('a text can’t contain a zero character');
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
