/**
 * Combines the parts of accounts: how people sign in, how they join, and how they change their ways to prove their
 * identity.
 */
import { randomBytes } from 'node:crypto';
import { actions, type Role, roleAllows } from '../access/policy.ts';
import type { Plan } from '../contract/access.ts';
import type { SignedIn } from '../contract/auth.ts';
import { Failure } from '../contract/errors.ts';
import type { PasswordPool } from '../material/password-pool.ts';
import type { Authenticator } from './credentials/authentication.ts';
import { rightsOf, rolesListed } from './credentials/member-rights.ts';
import type { MinuteCounter } from './kernel/minute-counter.ts';
import type { Parts } from './kernel/parts.ts';
import type { People } from './people/people.ts';
import { whoamiWith } from './people/whoami.ts';
import { dashboardSessionsWith, type SignedInAs } from './sessions/dashboard-sessions.ts';
import { lockOutWith } from './sessions/lock-out.ts';
import { loginKeysWith } from './sessions/login-keys.ts';
import type { MailSettings } from './sessions/mail-settings.ts';
import { challengesWith } from './sign-in/challenges.ts';
import { deviceLoginsWith } from './sign-in/device-logins.ts';
import { factorsWith } from './sign-in/factors.ts';
import { joiningWith } from './sign-in/joining.ts';
import { passkeysWith } from './sign-in/passkeys.ts';
import { type PasswordCosts, passwordsWith } from './sign-in/passwords.ts';
import { proofsWith } from './sign-in/proofs.ts';
import { secondFactorWith } from './sign-in/second-factor.ts';
import { signInWith } from './sign-in/sign-in.ts';
import { identitiesWith } from './sign-in/sign-on-identities.ts';

export type Accounts = ReturnType<typeof accountsWith>;

interface AccountsParts extends Parts {
  readonly people: People;
  readonly mailSettings: MailSettings;
  readonly authenticate: Authenticator;
  readonly attempts: MinuteCounter;
  readonly passwordPool: PasswordPool;
  readonly passwordCosts: PasswordCosts;
}

export function accountsWith(parts: AccountsParts, random = randomBytes) {
  const { store, keyring, stamps, keyringSync, now, attempts, people } = parts;
  const lockOut = lockOutWith({ store, keyring, stamps, attempts, now });
  const challenges = challengesWith({ store, keyring, now, random });
  const sessions = dashboardSessionsWith(parts, people, lockOut, parts.mailSettings);
  const signInParts = {
    ...parts,
    sessions,
    lockOut,
    challenges,
    passwords: passwordsWith(keyring, parts.passwordPool, parts.passwordCosts),
    passkeys: passkeysWith(challenges),
    secondFactor: secondFactorWith({ keyring, stamps, keyringSync, now, random }),
  };
  const proofs = proofsWith(signInParts);
  const loginKeys = loginKeysWith(parts);

  async function describe({ person }: SignedInAs): Promise<SignedIn> {
    const { member, account } = person;
    const row = await store.organizations.byId(member.organization_id);
    if (row === undefined) throw new Failure('UNAUTHORIZED');
    const { id, name, plan } = stamps.organization.believe(row);
    const passkeys = await store.accounts.passkeysOf(member.id);
    const role = member.role as Role;
    return {
      member: { id: member.id, email: member.email, role },
      organization: { id, name, plan: plan as Plan },
      permissions: actions.filter(action => roleAllows(role, action)),
      grants: rolesListed(rightsOf(person, now()).vaultRoles),
      second_factor: account.totp !== null,
      has_password: account.password !== null,
      passkeys: passkeys.length,
      single_sign_on: account.oidc_subject !== null,
    };
  }

  return {
    sessions,
    /** Refuses a network address with too many failures before reading anything that it sent. */
    checkAddress: lockOut.check,
    describe,
    signIn: signInWith(signInParts),
    joining: joiningWith(signInParts),
    identities: identitiesWith(signInParts),
    proofs,
    factors: factorsWith(signInParts, proofs),
    deviceLogins: deviceLoginsWith(parts, lockOut, loginKeys, proofs),
    loginKeys,
    mailSettings: parts.mailSettings,
    whoami: whoamiWith(parts),
  };
}
