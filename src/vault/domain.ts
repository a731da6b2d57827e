/** The whole domain, put together: what the surfaces are handed. */
import type { NewId } from '../contract/id.ts';
import type { Keyring } from '../keyring/keyring.ts';
import { Ledger } from '../logs/ledger.ts';
import type { Store } from '../store/store.ts';
import { answersWith } from './answers.ts';
import { Attempts } from './attempts.ts';
import { authenticatorWith } from './authenticate.ts';
import { certificatesWith } from './certificates.ts';
import { credentialsWith } from './credentials.ts';
import { guardWith } from './guard.ts';
import { housekeepingWith } from './housekeeping.ts';
import { keysWith } from './keys.ts';
import { logsWith } from './logs.ts';
import { membersWith } from './members.ts';
import { organizationsWith } from './organizations.ts';
import { vaultReadsWith } from './read.ts';
import { resourcesWith } from './resources.ts';
import { secretsWith } from './secrets.ts';
import { shelfWith } from './shelf.ts';
import { stampsWith } from './stamps.ts';
import { vaultsWith } from './vaults.ts';

export interface DomainParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly now: () => number;
  readonly newId: NewId;
}

export type Domain = ReturnType<typeof domainWith>;

export function domainWith({ store, keyring, now, newId }: DomainParts) {
  const ledger = new Ledger({ store, keyring, now, newId });
  const stamps = stampsWith(keyring);
  const parts = { store, keyring, stamps, guard: guardWith(ledger), now, newId };
  const attempts = new Attempts(now);
  const shelf = shelfWith(parts);
  const vaults = vaultsWith(parts, shelf);
  const secrets = secretsWith(parts, shelf);
  const keys = keysWith(parts, shelf);
  const certificates = certificatesWith(parts, shelf);
  const authenticate = authenticatorWith({ store, keyring, stamps, attempts, now });
  const answers = answersWith(parts, shelf);
  return {
    ledger,
    attempts,
    authenticate,
    vaultReads: vaultReadsWith({ ...parts, ledger, authenticate, answers }),
    organizations: organizationsWith(parts),
    members: membersWith(parts),
    vaults,
    secrets,
    keys,
    certificates,
    resources: resourcesWith(parts, shelf, {
      vault: vaults,
      secret: secrets,
      key: keys,
      certificate: certificates,
    }),
    ...credentialsWith(parts, shelf),
    logs: logsWith(parts),
    housekeeping: housekeepingWith(parts, shelf),
  };
}
