/**
 * API keys with which a member is signed in on a command line. Such a key is an API key like any other and is listed
 * and revoked with them. But it belongs to its member: they can see and end it whatever their role, and it ends when
 * they are removed or reset, or change how they prove their identity.
 */
import type { Origin } from '../../access/caller.ts';
import { unstored } from '../../access/caller.ts';
import type { GrantedRole } from '../../access/policy.ts';
import { mintToken } from '../../access/token.ts';
import type { LoginKey } from '../../contract/device-login.ts';
import { Failure } from '../../contract/errors.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import { isOf } from '../credentials/api-key-callers.ts';
import type { Authenticator } from '../credentials/authentication.ts';
import { credentialKinds, isUsable, type Login, type Restrictions } from '../credentials/credential.ts';
import { newCredentialWith } from '../credentials/credential-changes.ts';
import { lifeOf, presentApiKey } from '../credentials/credential-records.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { callerOf, type People, type Person } from '../people/people.ts';
import type { SignedInAs } from './dashboard-sessions.ts';

interface NewLoginKey {
  readonly id: string;
  readonly name: string;
  readonly login: Login;
  readonly role: GrantedRole;
  readonly until: number;
}

export type LoginKeys = ReturnType<typeof loginKeysWith>;

const kind = credentialKinds.api;
/** The oldest keys make room for a new one. */
const mostKeys = 20;
/** The newest of these are shown. */
const mostCreated = 100;

export function loginKeysWith(
  parts: Parts & { readonly people: People; readonly authenticate: Authenticator },
) {
  const { store, stamps, guard, people, authenticate, now } = parts;
  const newRow = newCredentialWith(parts);

  async function all({ member }: Person): Promise<CredentialRow[]> {
    const rows = await store.credentials.createdBy(member.organization_id, kind, member.id);
    return rows.map(stamps.credential.believe).filter(row => loginIn(row)?.member_id === member.id);
  }

  /** What these keys created, which ends with them. */
  async function createdBy({ member }: Person, keys: readonly CredentialRow[]) {
    const ids = keys.map(({ id }) => id);
    const found = new Map<string, LoginKey['created']>();
    if (ids.length === 0) return found;
    const made = (await store.credentials.madeBy(ids, now(), mostCreated)).map(stamps.credential.believe);
    const identities = await store.identities.madeBy(member.organization_id, ids, mostCreated);
    const things = [
      ...made.map(row => ({ ...row, type: row.kind as LoginKey['created'][number]['type'] })),
      ...identities.map(row => ({ ...stamps.identity.believe(row), type: 'identity' as const })),
    ];
    for (const { type, id, name, created_by } of things)
      found.set(created_by, [...(found.get(created_by) ?? []), { type, id, name }]);
    return found;
  }

  function works(row: CredentialRow, person: Person): boolean {
    return isUsable(row, now()) && isOf(loginIn(row)!, person);
  }

  function revoked(before: CredentialRow) {
    const row = stamps.credential.revise(before, { revoked_at: now() }, now());
    return {
      subject: { ...subjectOf(row), verb: 'api-key.revoked' as const },
      statement: store.credentials.update(row),
    };
  }

  async function newKey(person: Person, { id, name, role, until, login }: NewLoginKey, origin: Origin) {
    const caller = callerOf(person, origin, unstored, now());
    const token = mintToken('api', id);
    const wanted = { name, role, narrowing: { login }, expirationDate: until };
    return { caller, token, row: await newRow('api', caller, id, token, wanted) };
  }

  return {
    /** Null if the member could no longer grant it. */
    create: async (wanted: NewLoginKey, origin: Origin, related: readonly Statement[]) => {
      const { login } = wanted;
      const person = await people.fresh(login.member_id);
      if (person === undefined || !isOf(login, person)) return null;
      const { caller, token, row } = await newKey(person, wanted, origin);
      const living = await all(person);
      const old = [
        ...living.filter(one => !works(one, person)),
        ...living.filter(one => works(one, person)).slice(mostKeys - 1),
      ].map(revoked);
      await guard.own(caller, 'api-key.created', {
        subjects: [
          { ...subjectOf(row), details: { method: 'device' }, lasts: lifeOf(row) },
          ...old.map(({ subject }) => subject),
        ],
        statements: [
          store.conditions.proves(person.member, login.epoch),
          ...related,
          store.credentials.insert(row),
          ...old.map(({ statement }) => statement),
        ],
        touches: old.map(({ subject }) => subject.id),
      });
      return { ...presentApiKey(row), token };
    },

    /** The person's keys that still work. */
    list: async ({ person }: SignedInAs): Promise<LoginKey[]> => {
      const rows = (await all(person)).filter(row => works(row, person));
      const created = await createdBy(person, rows);
      return rows.map(row => ({ ...presentApiKey(row), created: created.get(row.id) ?? [] }));
    },

    revoke: ({ person, caller }: SignedInAs, id: string): Promise<void> =>
      retryingStale(async () => {
        const row = (await all(person)).find(one => one.id === id);
        if (row === undefined) throw new Failure('NOT_FOUND');
        const { subject, statement } = revoked(row);
        await guard.own(caller, 'api-key.revoked', {
          subjects: [subject],
          statements: [statement],
          touches: [id],
        });
      }),

    /** Called by the holder of the key. */
    revokeItself: async (token: string, origin: Origin): Promise<void> => {
      const caller = await authenticate.apiKey(token, origin);
      await retryingStale(async () => {
        const found = await store.credentials.byId(caller.id);
        const row = found && stamps.credential.believe(found);
        if (row === undefined || loginIn(row) === undefined) throw new Failure('FORBIDDEN', notALogin);
        const { subject, statement } = revoked(row);
        await guard.own(caller, 'api-key.revoked', {
          subjects: [subject],
          statements: [statement],
          touches: [row.id],
        });
      });
    },
  };
}

const notALogin = { message: 'Only the API key of a signed-in command line can be revoked this way' };

function loginIn({ narrowing }: CredentialRow): Login | undefined {
  return (JSON.parse(narrowing) as Restrictions).login;
}

function subjectOf({ id, name, revision }: CredentialRow): SubjectChange {
  return { type: kind, id, name, revision };
}
