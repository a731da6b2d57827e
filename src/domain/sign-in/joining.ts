/**
 * How people join: the owner with the setup link, everyone else with an invitation. A link works once. The setup
 * token is derived from the keyring, so that every start and every replica prints the same one until an organization
 * exists; after that, no setup token works.
 */
import type { Origin } from '../../access/caller.ts';
import { mintToken, parseToken } from '../../access/token.ts';
import type { Digest } from '../../base/bytes.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import type { AcceptBody, Invitation, PasskeyOptions, SetupBody } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import { equalBytes } from '../../keyring/keyring.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { emailKey } from '../people/email.ts';
import { newAccount, newMember } from '../people/invitations.ts';
import { accountSubject, memberSubject, type Person } from '../people/people.ts';
import { newPasskey } from './passkey-rows.ts';
import type { NewPasskey, Site } from './passkeys.ts';
import type { SignInParts } from './sign-in.ts';

const setupId = '00000000-0000-7000-8000-000000000001';
const nobody = '00000000-0000-7000-8000-000000000000';

/** How the person proves their identity from now on. */
interface FirstProof {
  readonly password: Digest | null;
  readonly passkey: { readonly name: string; readonly made: NewPasskey } | null;
}

export function joiningWith(parts: SignInParts) {
  const { store, keyring, stamps, guard, now, newId, people, sessions, passwords, passkeys, lockOut } = parts;
  const setupSecret = mintToken('setup', setupId, () => keyring.stamp('setup-token', [keyring.deployment]));
  const noInvitation = keyring.tokenDigest(mintToken('invite', nobody));

  const setupRequired = async () => (await store.organizations.all()).length === 0;

  async function refuse(origin: Origin, verb: AuditAction): Promise<never> {
    lockOut.failed(origin);
    await guard.unproven(origin, verb, null);
    throw new Failure('UNAUTHORIZED');
  }

  async function checkSetup(token: string, origin: Origin): Promise<void> {
    lockOut.check(origin);
    const right = equalBytes(keyring.tokenDigest(token), keyring.tokenDigest(setupSecret));
    if (!right || !(await setupRequired())) await refuse(origin, 'organization.setup_refused');
  }

  /** The person invited by the token, while it is valid. */
  async function invited(token: string, origin: Origin): Promise<Person> {
    lockOut.check(origin);
    const parsed = parseToken(token);
    const person = parsed?.kind === 'invite' ? await people.byAccount(parsed.id) : undefined;
    const right = equalBytes(keyring.tokenDigest(token), person?.account.invitation ?? noInvitation);
    const isOpen = person?.member.state === 'invited' && now() < person.account.invitation_expires!;
    return right && isOpen ? person : refuse(origin, 'invitation.refused');
  }

  async function firstProof(
    site: Site,
    purpose: string,
    account: Pick<AccountRow, 'id'>,
    email: string,
    { password, passkey }: Pick<AcceptBody, 'password' | 'passkey'>,
  ): Promise<FirstProof> {
    if (passkey !== undefined) {
      const made = await passkeys.verifyNew(site, purpose, passkey.credential);
      return { password: null, passkey: { name: passkey.name ?? 'Passkey', made } };
    }
    const derived = await passwords.derive(emailKey(email), password!);
    return { password: passwords.mark(account.id, derived), passkey: null };
  }

  function passkeyAlong(person: Person, { passkey }: FirstProof) {
    if (passkey === null) return { subjects: [], statements: [] };
    const { subject, statements } = newPasskey(parts, person, passkey.name, passkey.made);
    return { subjects: [subject], statements };
  }

  function firstPerson(
    email: string,
    ids: { organization: string; member: string },
    proof: FirstProof,
    id: string,
  ) {
    const member = newMember(parts, {
      id: ids.member,
      organization_id: ids.organization,
      email,
      role: 'owner',
      state: 'active',
      grants: '[]',
    });
    const account = newAccount(parts, member, id, { password: proof.password });
    return { member, account, groups: [] };
  }

  const setupPurpose = (email: string) => `set-up of ${emailKey(email)}`;
  const joinPurpose = ({ account }: Person) => `join as ${account.id}`;

  return {
    setupRequired,
    /** Whether any member can sign in. */
    hasJoined: store.organizations.hasJoined,
    /** Null if setup is complete. */
    setupToken: async (): Promise<string | null> => ((await setupRequired()) ? setupSecret : null),

    setupOptions: async (site: Site, token: string, email: string, origin: Origin) => {
      await checkSetup(token, origin);
      return passkeys.creationOptions(site, setupPurpose(email), { handle: newId(), email }, []);
    },

    /** Both return the token of a new session. */
    setUp: async (site: Site, { token, email, organization: name, ...given }: SetupBody, origin: Origin) => {
      await checkSetup(token, origin);
      const ids = { organization: newId(), member: newId() };
      const accountId = newId();
      const proof = await firstProof(site, setupPurpose(email), { id: accountId }, email, given);
      const organization = stamps.organization.create(now(), {
        id: ids.organization,
        name,
        plan: 'pro',
        enterprise_limit: 0,
      });
      const person = firstPerson(email, ids, proof, accountId);
      const passkey = passkeyAlong(person, proof);
      return sessions.start(person, passkey.subjects.length === 0 ? 'password' : 'passkey', origin, {
        subjects: [
          { type: 'organization', id: organization.id, name, revision: 1, verb: 'organization.created' },
          { ...memberSubject(person.member), verb: 'member.joined' },
          accountSubject(person.account, email, 'account.opened'),
          ...passkey.subjects,
        ],
        statements: [
          store.accounts.doOnce('setup'),
          store.organizations.insert(organization),
          store.organizations.insertMember(person.member),
          store.accounts.insertAccount(person.account),
          ...passkey.statements,
        ],
      });
    },

    invitation: async (token: string, origin: Origin): Promise<Invitation> => {
      const { member } = await invited(token, origin);
      const row = await store.organizations.byId(member.organization_id);
      const { name } = stamps.organization.believe(row!);
      return { email: member.email, organization: name, role: member.role as Invitation['role'] };
    },

    invitationOptions: async (site: Site, token: string, origin: Origin): Promise<PasskeyOptions> => {
      const person = await invited(token, origin);
      const user = { handle: person.account.id, email: person.member.email };
      return passkeys.creationOptions(site, joinPurpose(person), user, []);
    },

    accept: (site: Site, { token, ...given }: AcceptBody, origin: Origin): Promise<string> =>
      retryingStale(async () => {
        const before = await invited(token, origin);
        const proof = await firstProof(site, joinPurpose(before), before.account, before.member.email, given);
        const person = opened(parts, before, proof.password);
        const passkey = passkeyAlong(person, proof);
        return sessions.start(person, proof.passkey === null ? 'password' : 'passkey', origin, {
          subjects: [
            { ...memberSubject(person.member), verb: 'member.joined' },
            accountSubject(person.account, person.member.email, 'account.opened'),
            ...passkey.subjects,
          ],
          statements: [
            store.organizations.updateMember(person.member),
            store.accounts.updateAccount(person.account),
            ...passkey.statements,
          ],
          touches: [person.member.id],
        });
      }),
  };
}

/** The person after joining; the invitation is used up. */
function opened(
  { stamps, now }: Parts,
  { member, account, groups }: Person,
  password: Digest | null,
): Person {
  const changes = { password, invitation: null, invitation_expires: null, epoch: account.epoch + 1 };
  return {
    member: stamps.member.revise(member, { state: 'active' }, now()),
    account: stamps.account.revise(account, changes, now()),
    groups,
  };
}
