/** The whole domain, which the surfaces and the commands use. */
import { egressInto } from '../access/egress.ts';
import type { Broker } from '../egress/brokered-call.ts';
import { shownLinksWith } from '../logs/shown-links.ts';
import { passwordPool } from '../material/password-pool.ts';
import { accountsWith } from './accounts.ts';
import { acmeWith } from './authorities/acme.ts';
import { certificateAuthoritiesWith } from './authorities/authorities.ts';
import { issuanceWith } from './authorities/issuance.ts';
import { issuedCertificatesWith } from './authorities/issued-certificates.ts';
import { profilesWith } from './authorities/profiles.ts';
import { revocationListsWith } from './authorities/revocation-lists.ts';
import { credentialsWith } from './credentials/credentials.ts';
import { ownAccessKeysWith } from './credentials/own-access-keys.ts';
import { identitiesWith } from './identities/identities.ts';
import { issuersWith } from './identities/issuers.ts';
import { loginsWith } from './identities/logins.ts';
import { secretIdsWith } from './identities/secret-ids.ts';
import { credentialIssuersWith } from './issuing/issuers.ts';
import { leaseKeeperWith } from './issuing/lease-keeper.ts';
import { leasesWith } from './issuing/leases.ts';
import type { Dial } from './issuing/providers.ts';
import type { Guard } from './kernel/guard.ts';
import { mailboxWith } from './kernel/mailbox.ts';
import { authorizationRequestsWith } from './oauth/authorization-requests.ts';
import { type OAuthClientSettings, oauthClientsWith } from './oauth/clients.ts';
import { grantRecordsWith } from './oauth/grant-records.ts';
import { oauthGrantsWith } from './oauth/grants.ts';
import { tokenRequestsWith } from './oauth/token-requests.ts';
import { acceptanceWith } from './operations/acceptance.ts';
import { attentionWith } from './operations/attention.ts';
import { housekeepingWith } from './operations/housekeeping.ts';
import { verifyLogsWith } from './operations/log-verification.ts';
import { logsWith } from './operations/logs.ts';
import { memberMailsWith } from './operations/member-mails.ts';
import { type Facts, overviewsWith } from './operations/overview.ts';
import { readersWith } from './operations/readers.ts';
import { retentionWith } from './operations/retention.ts';
import { rootKeySlotsWith } from './operations/root-key-slots.ts';
import { rotationWith } from './operations/rotation.ts';
import { stageTakeoverWith } from './operations/stage-takeover.ts';
import { timelineWith } from './operations/timeline.ts';
import { vaultReadersWith } from './operations/vault-readers.ts';
import { groupsWith } from './people/groups.ts';
import { membersWith } from './people/members.ts';
import { organizationsWith } from './people/organizations.ts';
import { roleRequestsWith } from './people/role-requests.ts';
import { vaultPeopleWith } from './people/vault-people.ts';
import { foundationWith, type ReadingParts } from './reading.ts';
import { certificatesWith } from './resources/certificates.ts';
import { comparisonsWith } from './resources/comparisons.ts';
import { keysWith } from './resources/keys.ts';
import { looksAlikeWith } from './resources/look-alikes.ts';
import { manySecretsWith } from './resources/many-secrets.ts';
import { namedKeysWith } from './resources/named-keys.ts';
import { namedSecretsWith } from './resources/named-secrets.ts';
import { proposalsWith } from './resources/proposals.ts';
import { resourcesWith } from './resources/resources.ts';
import { secretsWith } from './resources/secrets.ts';
import { sshAuthoritiesWith } from './resources/ssh-authorities.ts';
import { stagesWith } from './resources/stages.ts';
import { usedByWith } from './resources/used-by.ts';
import { usedKeysWith } from './resources/used-keys.ts';
import { vaultsWith } from './resources/vaults.ts';
import { rotationMethodsWith } from './rotating/all-methods.ts';
import { planJudgingWith } from './rotating/plan-judging.ts';
import { rotationKeeperWith } from './rotating/rotation-keeper.ts';
import { secretRotationsWith } from './rotating/secret-rotations.ts';
import { mailSettingsWith } from './sessions/mail-settings.ts';
import { type PasswordCosts, passwordCosts } from './sign-in/passwords.ts';
import { approvalsWith } from './uses/approval-decisions.ts';
import { runsWith } from './uses/runs.ts';
import { rulesForUseWith } from './uses/use-rules.ts';
import { approvalWatchWith } from './uses/waiting-approvals.ts';
import { webhookDeliveriesWith } from './webhooks/deliveries.ts';
import { webhookTargetsWith } from './webhooks/targets.ts';
import { webhooksWith } from './webhooks/webhooks.ts';

interface DomainParts extends ReadingParts {
  /** The clock by which age is judged before something is deleted permanently. */
  readonly aged: () => number;
  readonly facts: Facts;
  /** The product's costs by default. Passwords stored with other costs don't match. */
  readonly passwordCosts?: PasswordCosts | undefined;
  /** Whether the service sends mail. */
  readonly sendsMail: boolean;
  /** The private ranges that webhooks may connect to. */
  readonly privateWebhooks: readonly string[];
  /** The private ranges that token issuers may be in. */
  readonly privateIssuers: readonly string[];
  /** Opens sessions at the services in which issuers create credentials. */
  readonly dial: Dial;
  /** Makes the calls of rotations. */
  readonly broker: () => Broker;
  /** Fetches a JSON document from an address that the service may connect to. */
  readonly fetchDocument: (url: string) => Promise<unknown>;
  /** Clients of the tool endpoint that are known in addition to the built-in ones. */
  readonly oauthClients?: OAuthClientSettings | undefined;
}

/** What surfaces may ask of the guard. */
export type Doorkeeper = Pick<Guard, 'admit' | 'admitAny' | 'withdrawn'>;

export type Domain = ReturnType<typeof domainWith>;

export function domainWith(given: DomainParts) {
  const { wrapper, facts, privateWebhooks, privateIssuers } = given;
  const { parts, records, people, visibility: _, ...reading } = foundationWith(given);
  const { ledger, attempts, authenticate, revisions } = reading;
  const { guard, stamps, now } = parts;
  const shown = shownLinksWith({ ...parts, revisions });
  const vaults = vaultsWith(parts, records);
  const secrets = secretsWith(parts, records, planJudgingWith(parts));
  const rotationKeeper = rotationKeeperWith(parts, records, rotationMethodsWith(parts, records, given));
  const comparisons = comparisonsWith(parts, records);
  const keys = keysWith(parts, records);
  const usedKeys = usedKeysWith(parts, records);
  const certificates = certificatesWith(parts, records);
  const sshAuthorities = sshAuthoritiesWith(parts, records);
  const approvals = approvalsWith(parts, records);
  const organizations = organizationsWith(parts);
  const groups = groupsWith(parts, records);
  const mailbox = mailboxWith(parts, given.sendsMail);
  const mailSettings = mailSettingsWith(parts, mailbox);
  const members = membersWith(parts, records, groups, mailbox);
  const passwords = passwordPool(parts.meter.gauge('strongroom_jobs_waiting', { pool: 'passwords' }));
  const webhooks = webhooksWith(parts, records, egressInto(privateWebhooks));
  const identities = identitiesWith(parts, records, egressInto(privateIssuers));
  const tokenIssuers = issuersWith({ fetchDocument: given.fetchDocument, now });
  const accounts = accountsWith({
    ...parts,
    mailSettings,
    people,
    attempts,
    authenticate,
    passwordPool: passwords,
    passwordCosts: given.passwordCosts ?? passwordCosts,
  });
  const roleRequests = roleRequestsWith(parts, records, members);
  const proposals = proposalsWith(parts, records);
  const issuance = issuanceWith(parts, records);
  const verifyLogs = verifyLogsWith({ ...parts, ledger });
  const { fetchDocument, oauthClients = { documents: [], mayFetch: false } } = given;
  const grantRecords = grantRecordsWith(parts, people);
  const clients = oauthClientsWith({ ...oauthClients, keyring: parts.keyring, fetchDocument, now });
  return {
    ...reading,
    /** Gives the permits that the operations require, and records refusals. */
    guard: guard as Doorkeeper,
    organizations,
    overviews: overviewsWith({ ...parts, organizations, ledger, facts }),
    attention: attentionWith({ ...parts, ledger, facts, verifyLogs, approvals, roleRequests, proposals }),
    groups,
    members,
    roleRequests,
    vaultPeople: vaultPeopleWith(parts, records, groups),
    accounts,
    oauth: {
      clients,
      judge: authorizationRequestsWith(clients),
      grants: oauthGrantsWith(parts, grantRecords, accounts.proofs, records),
      tokens: tokenRequestsWith(parts, attempts, grantRecords),
    },
    /** Ends the threads that create keys and derive passwords. */
    closeThreads: async () => void (await Promise.all([parts.workers.close(), passwords.close()])),
    vaults,
    secrets,
    usedKeys,
    sshAuthorities,
    usedBy: usedByWith(parts, records),
    manySecrets: manySecretsWith(parts, records, secrets),
    comparisons,
    stages: stagesWith(parts, records, comparisons),
    proposals,
    namedSecrets: namedSecretsWith(parts, records, secrets),
    namedKeys: namedKeysWith(parts, records, keys, usedKeys),
    keys,
    certificates,
    looksAlike: looksAlikeWith(parts),
    resources: resourcesWith(parts, records, {
      vault: vaults,
      secret: secrets,
      key: keys,
      certificate: certificates,
    }),
    ...credentialsWith(parts, records),
    ownAccessKeys: ownAccessKeysWith({ ...parts, authenticate }),
    identities,
    secretIds: secretIdsWith(parts, identities),
    logins: loginsWith({ ...parts, attempts, issuers: tokenIssuers, authenticate }),
    useRules: rulesForUseWith(parts, records, egressInto(privateWebhooks)),
    issuers: credentialIssuersWith(parts, records, given.dial),
    leases: leasesWith(parts, records, given.dial),
    authorities: certificateAuthoritiesWith(parts, records),
    revocationLists: revocationListsWith(parts, records),
    profiles: profilesWith(parts, records),
    issuedCertificates: issuedCertificatesWith(parts, issuance),
    runs: runsWith(parts, records),
    acme: acmeWith(parts, issuance, attempts),
    rotations: secretRotationsWith(parts, records, rotationKeeper),
    approvals,
    approvalWatch: approvalWatchWith(parts, approvals),
    webhooks,
    webhookDeliveries: webhookDeliveriesWith(parts, webhooks),
    /** Only for the delivery of events; not passed to any surface. */
    webhookTargets: (onError: (error: unknown) => void) => webhookTargetsWith(parts, onError),
    memberMails: (onError: (error: unknown) => void) => memberMailsWith(parts, people, mailbox, onError),
    stamps,
    logs: logsWith({ ...parts, ledger, shown }),
    readers: readersWith({ ...parts, ledger, shown }, records),
    vaultReaders: vaultReadersWith({ ...parts, ledger, shown }, records, secrets),
    verifyLogs,
    /** For the service itself; not passed to any surface. */
    retention: retentionWith({ ...parts, ledger, revisions }),
    leaseKeeper: leaseKeeperWith(parts, records, given.dial),
    rotationKeeper,
    stageTakeover: stageTakeoverWith(parts, records),
    housekeeping: housekeepingWith({ ...parts, aged: given.aged }, records),
    /** Only at startup. */
    accept: acceptanceWith(parts),
    noteTimeline: timelineWith(parts),
    /** Only for the operator; not passed to any surface. */
    rotation: rotationWith({ ...parts, wrapper }),
    rootKeySlots: rootKeySlotsWith({ ...parts, wrapper }),
  };
}
