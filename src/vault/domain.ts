/** The whole domain, put together: what the surfaces are handed. */
import { egressInto } from '../access/egress.ts';
import type { NewId } from '../contract/id.ts';
import type { Keyring } from '../keyring/keyring.ts';
import type { KeyringLock } from '../keyring/stored-keyring.ts';
import { Ledger } from '../logs/ledger.ts';
import type { Store } from '../store/store.ts';
import { accountsWith } from './accounts/accounts.ts';
import { answersWith } from './answers.ts';
import { Attempts } from './attempts.ts';
import { authenticatorWith } from './authenticate.ts';
import { certificatesWith } from './certificates.ts';
import { credentialsWith } from './credentials.ts';
import { detailsWith } from './details.ts';
import { guardWith } from './guard.ts';
import { housekeepingWith } from './housekeeping.ts';
import { keysWith } from './keys.ts';
import { logCheckWith } from './log-check.ts';
import { logsWith } from './logs.ts';
import { membersWith } from './members.ts';
import { organizationsWith } from './organizations.ts';
import { type Facts, overviewsWith } from './overview.ts';
import { vaultReadsWith } from './read.ts';
import { readingWith } from './reading.ts';
import { resourcesWith } from './resources.ts';
import { rotationWith } from './rotation.ts';
import { secretsWith } from './secrets.ts';
import { toolSessionsWith } from './sessions.ts';
import { shelfWith } from './shelf.ts';
import { stampsWith } from './stamps.ts';
import { termsWith } from './terms.ts';
import { vaultsWith } from './vaults.ts';
import { webhookDeliveriesWith } from './webhook-deliveries.ts';
import { webhookTargetsWith } from './webhook-targets.ts';
import { webhooksWith } from './webhooks.ts';

export interface DomainParts {
  readonly store: Store;
  readonly keyring: Keyring;
  /** What wraps the keyring, and how that is stored right now. */
  readonly lock: KeyringLock;
  readonly storedKeyring: Uint8Array;
  readonly now: () => number;
  readonly newId: NewId;
  readonly facts: Facts;
  /** The inner ranges that webhooks may lead into. */
  readonly privateWebhooks?: readonly string[] | undefined;
}

export type Domain = ReturnType<typeof domainWith>;

export function domainWith(given: DomainParts) {
  const { store, keyring, lock, now, newId, facts, privateWebhooks = [] } = given;
  const ledger = new Ledger({ store, keyring, now, newId });
  const stamps = stampsWith(keyring);
  const terms = termsWith({ store, keyring, lock, stored: given.storedKeyring });
  const parts = { store, keyring, stamps, terms, guard: guardWith(ledger), now, newId };
  const attempts = new Attempts(now);
  const shelf = shelfWith(parts);
  const vaults = vaultsWith(parts, shelf);
  const secrets = secretsWith(parts, shelf);
  const keys = keysWith(parts, shelf);
  const certificates = certificatesWith(parts, shelf);
  const authenticate = authenticatorWith({ store, keyring, stamps, attempts, now });
  const reading = readingWith(parts, shelf);
  const answers = answersWith(reading);
  const details = detailsWith(parts, shelf, reading);
  const organizations = organizationsWith(parts);
  const webhooks = webhooksWith(parts, shelf, egressInto(privateWebhooks));
  return {
    ledger,
    attempts,
    authenticate,
    vaultReads: vaultReadsWith({ ...parts, ledger, authenticate, answers, details }),
    toolSessions: toolSessionsWith({ store, keyring, attempts, now, newId }),
    organizations,
    overviews: overviewsWith({ ...parts, organizations, hourCounts: ledger.hourCounts, facts }),
    members: membersWith(parts),
    accounts: accountsWith(parts, attempts),
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
    webhooks,
    webhookDeliveries: webhookDeliveriesWith(parts, webhooks),
    /** For the delivery of events alone; no surface is handed this. */
    webhookTargets: (onError: (error: unknown) => void) => webhookTargetsWith(parts, onError),
    stamps,
    logs: logsWith({ ...parts, ledger }),
    logCheck: logCheckWith({ ...parts, ledger }),
    housekeeping: housekeepingWith(parts, shelf),
    /** For the operator alone; no surface is handed this. */
    rotation: rotationWith({ ...parts, lock }),
  };
}
