/**
 * The part of the domain that answers vault reads and tool calls; the reading plane gets nothing else. The whole
 * domain is built on the same foundation.
 */
import type { Sealed } from '../base/bytes.ts';
import type { Broker } from '../egress/brokered-call.ts';
import type { KeyringWrapper } from '../keyring/stored-keyring.ts';
import { Ledger, type OtherLedger } from '../logs/ledger.ts';
import { RevisionIndex } from '../logs/revision-index.ts';
import { workerPoolWith } from '../material/worker-pool.ts';
import { authorityWith } from './authority.ts';
import { authenticatorWith } from './credentials/authentication.ts';
import { checkExposureWith } from './credentials/exposure.ts';
import { restrictionKeysWith } from './credentials/restriction-keys.ts';
import { toolSessionsWith } from './credentials/tool-sessions.ts';
import { type LeaseRequests, leaseRequestsWith } from './issuing/lease-requests.ts';
import type { Dial } from './issuing/providers.ts';
import { guardWith } from './kernel/guard.ts';
import { keyringSyncWith } from './kernel/keyring-sync.ts';
import { MinuteCounter } from './kernel/minute-counter.ts';
import type { Parts } from './kernel/parts.ts';
import { stampsWith } from './kernel/stamps.ts';
import { peopleWith } from './people/people.ts';
import { KeptAnswers } from './reads/kept-answers.ts';
import { toolAnswersWith } from './reads/tool-answers.ts';
import { vaultAnswersWith } from './reads/vault-answers.ts';
import { vaultReadsWith } from './reads/vault-read.ts';
import { visibilityWith } from './reads/visibility.ts';
import { recordsWith } from './resources/records.ts';
import { concurrencyOf } from './uses/concurrency.ts';
import { gatewayCallsWith } from './uses/gateway-calls.ts';
import { type KeyUses, keyUsesWith } from './uses/key-uses.ts';
import { type RunRequests, runRequestsWith } from './uses/run-requests.ts';
import { secretCallsWith } from './uses/secret-calls.ts';
import { type SecretUses, secretUsesWith } from './uses/secret-uses.ts';

export interface ReadingParts extends Pick<Parts, 'store' | 'keyring' | 'now' | 'newId' | 'meter'> {
  readonly wrapper: KeyringWrapper;
  readonly storedKeyring: Sealed;
  /** How many threads of this process share the memory for cached answers; 1 if it is not given. */
  readonly share?: number | undefined;
  /** The same domain in another thread of this process. */
  readonly other?: OtherPlane | undefined;
}

/** Messages between the planes of a process, beyond what is stored. */
export interface OtherPlane {
  readonly ledger?: OtherLedger;
  /** Reports a failed authentication from this address. */
  readonly tellFailed: (address: string) => void;
  /** Reports that this caller opened a tool session, if other threads open them too. */
  readonly tellOpened?: (who: string) => void;
}

export type ReadingDomain = ReturnType<typeof readingDomainWith>;

/** Uses secrets and keys for callers who may not see them. */
export interface Uses {
  readonly vaultUses: SecretUses;
  readonly keyUses: KeyUses;
  readonly leaseUses: LeaseRequests;
  readonly runUses: RunRequests;
}

export type UsesDomain = ReturnType<typeof usesDomainWith>;

/** The same, on a plane of its own. It identifies nobody: the reading plane did, and its word is taken. */
export function usesDomainWith(given: ReadingParts & { readonly broker: Broker; readonly dial: Dial }) {
  const { parts, records, people, visibility, ledger } = foundationWith(given);
  const using = { ...parts, ledger, visibility, records, holders: people };
  const slots = concurrencyOf();
  const secretUses = { ...using, slots, broker: given.broker };
  const calls = secretCallsWith(secretUses);
  const vaultUses = secretUsesWith(secretUses, calls);
  const gateway = gatewayCallsWith(secretUses, calls);
  const keyUses = keyUsesWith({ ...using, slots });
  const leaseUses = leaseRequestsWith({ ...using, dial: given.dial });
  const runUses = runRequestsWith(using);
  /** `closeThreads` ends the threads that use keys. */
  return { vaultUses, keyUses, leaseUses, runUses, gateway, ledger, closeThreads: parts.workers.close };
}

export function readingDomainWith(given: ReadingParts) {
  const { ledger, attempts, authenticate, vaultReads, toolSessions } = foundationWith(given);
  return { ledger, attempts, authenticate, vaultReads, toolSessions };
}

export function foundationWith(given: ReadingParts) {
  const { store, keyring, now, newId, meter, other } = given;
  const revisions = new RevisionIndex({ store, keyring });
  store.believe(revisions);
  const committed = (text: string) => revisions.note(text);
  const ledger = new Ledger({ store, keyring, now, newId, meter, committed, other: other?.ledger });
  const stamps = stampsWith(keyring);
  const { wrapper, storedKeyring: stored } = given;
  const keyringSync = keyringSyncWith({ store, keyring, wrapper, stored });
  const people = peopleWith({ store, stamps });
  const guard = guardWith({ ledger, authority: authorityWith({ store, stamps, people, now }), now });
  // It starts no thread until there is work.
  const workers = workerPoolWith({ onWaiting: meter.gauge('strongroom_jobs_waiting', { pool: 'material' }) });
  const parts = { store, keyring, stamps, keyringSync, guard, workers, now, newId, meter };
  const records = recordsWith(parts, checkExposureWith(parts));
  const failures = meter.counter('strongroom_authentication_failures_total', {});
  const tellFailed = (address: string) => {
    failures();
    other?.tellFailed(address);
  };
  const attempts = new MinuteCounter(now, undefined, tellFailed, store.hearsChanges);
  const restrictionKeys = restrictionKeysWith(parts);
  const authenticate = authenticatorWith({ store, keyring, stamps, attempts, people, restrictionKeys, now });
  const visibility = visibilityWith(parts, records);
  const vaultAnswers = vaultAnswersWith(visibility, new KeptAnswers(parts));
  const toolAnswers = toolAnswersWith(parts, records, visibility);
  const vaultReads = vaultReadsWith({
    ...parts,
    share: given.share,
    ledger,
    authenticate,
    vaultAnswers,
    toolAnswers,
  });
  const toolSessions = toolSessionsWith({ ...parts, attempts, tellOpened: other?.tellOpened });
  return {
    parts,
    records,
    people,
    visibility,
    revisions,
    ledger,
    attempts,
    authenticate,
    vaultReads,
    toolSessions,
  };
}
