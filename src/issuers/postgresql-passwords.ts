/**
 * Passwords of PostgreSQL users that exist already: set one, and take it away again. The server gets a verifier, never
 * the password. Users who could do more than an ordinary one are refused, and so is the user of the connection itself.
 * Both may be repeated at any time.
 */
import { randomBytes } from 'node:crypto';
import { identifier, literal, type PostgresSession } from './postgresql.ts';
import { ProviderFailure } from './provider.ts';
import { scramVerifier } from './scram.ts';

type Session = Pick<PostgresSession, 'query'>;

const passwordBytes = 24;
const saltBytes = 16;
const insufficientPrivilege = '42501';

export function newPassword(): string {
  return randomBytes(passwordBytes).toString('base64url');
}

export async function setPassword(session: Session, username: string, password: string): Promise<void> {
  await ordinaryUser(session, username);
  const verifier = await scramVerifier(password, randomBytes(saltBytes));
  await session.query(`ALTER ROLE ${identifier(username)} PASSWORD ${literal(verifier)}`);
}

/** Nobody can open a session with it any more, and open ones end if the connection's user may end them. */
export async function endPassword(session: Session, username: string): Promise<void> {
  const oid = await ordinaryUser(session, username);
  await session.query(`ALTER ROLE ${identifier(username)} PASSWORD NULL`);
  try {
    await session.query(
      'SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity WHERE usesysid = $1',
      [oid],
    );
  } catch (error) {
    if (!(error instanceof ProviderFailure) || error.code !== insufficientPrivilege) throw error;
  }
}

async function ordinaryUser(session: Session, username: string): Promise<unknown> {
  const [found] = await session.query(
    `SELECT oid, rolcanlogin, rolsuper OR rolcreaterole OR rolreplication OR rolbypassrls AS special,
     rolname = current_user OR rolname = session_user AS own
     FROM pg_catalog.pg_roles WHERE rolname = $1`,
    [username],
  );
  if (found === undefined || found.rolcanlogin !== true)
    throw refusal('the user doesn’t exist, or can’t log in');
  if (found.own === true) throw refusal('the user is the one of the issuer’s connection');
  if (found.special === true)
    throw refusal('the user is a superuser, or may create users, replicate or bypass row security');
  return found.oid;
}

function refusal(reason: string): ProviderFailure {
  return new ProviderFailure(reason, insufficientPrivilege);
}
