/** Accounts, put together: who signs in, how people join, and what they change about how they prove themselves. */
import { randomBytes } from 'node:crypto';
import { actions, type Role, roleAllows } from '../../access/policy.ts';
import type { Plan } from '../../contract/access.ts';
import type { SignedIn } from '../../contract/auth.ts';
import { Failure } from '../../contract/errors.ts';
import type { Attempts } from '../attempts.ts';
import type { Parts } from '../parts.ts';
import { challengesWith } from './challenges.ts';
import { codesWith } from './codes.ts';
import { factorsWith } from './factors.ts';
import { joiningWith } from './joining.ts';
import { lockOutWith } from './lock-out.ts';
import { passkeysWith } from './passkeys.ts';
import { passwordsWith } from './passwords.ts';
import { peopleWith } from './people.ts';
import { type SignedInAs, sessionsWith } from './sessions.ts';
import { signInWith } from './sign-in.ts';

export type Accounts = ReturnType<typeof accountsWith>;

export function accountsWith(parts: Parts, attempts: Attempts, random = randomBytes) {
  const { store, keyring, stamps, terms, now } = parts;
  const people = peopleWith(store, stamps);
  const lockOut = lockOutWith({ store, keyring, attempts, now });
  const challenges = challengesWith({ store, keyring, now, random });
  const sessions = sessionsWith(parts, people, lockOut);
  const signInParts = {
    ...parts,
    people,
    sessions,
    lockOut,
    challenges,
    passwords: passwordsWith(keyring),
    passkeys: passkeysWith(challenges),
    codes: codesWith({ keyring, stamps, terms, now, random }),
  };

  async function describe({ person: { member, account } }: SignedInAs): Promise<SignedIn> {
    const row = await store.organizations.byId(member.organization_id);
    if (row === undefined) throw new Failure('UNAUTHORIZED');
    const { id, name, plan } = stamps.organization.believe(row);
    const passkeys = await store.accounts.passkeysOf(member.id);
    const role = member.role as Role;
    return {
      member: { id: member.id, email: member.email, role },
      organization: { id, name, plan: plan as Plan },
      permissions: actions.filter(action => roleAllows(role, action)),
      second_factor: account.totp !== null,
      has_password: account.password !== null,
      passkeys: passkeys.length,
    };
  }

  return {
    sessions,
    /** Refuses a network address that failed too often, before anything that it sent is read. */
    checkAddress: lockOut.check,
    describe,
    signIn: signInWith(signInParts),
    joining: joiningWith(signInParts),
    factors: factorsWith(signInParts),
  };
}
