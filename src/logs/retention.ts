/**
 * Retention: request entries past their age go, oldest first, a few at a time. What was removed is itself an
 * entry in the audit chain, with the last link of each chain that was shortened, so that the verifier can
 * tell retention from tampering. Audit entries stay: they prove which revision of a row is the newest.
 */
import { firstIdAt } from '../contract/id.ts';
import type { PlacedRow } from '../store/logs.ts';
import type { Store } from '../store/store.ts';
import type { AuditEntry } from './entries.ts';
import { ChangeRefused, type Ledger } from './ledger.ts';
import { type PrunedChain, prunedAction } from './verify.ts';

export interface RetentionParts {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly now: () => number;
  /** 0 keeps everything. */
  readonly days: number;
}

const step = 500;
const day = 86_400_000;

/** Removes one step's worth; true where more may be left. */
export async function pruneStep({ store, ledger, now, days }: RetentionParts): Promise<boolean> {
  if (days === 0) return false;
  const before = firstIdAt(now() - days * day);
  const rows = await store.logs.oldestRequests(before, step);
  if (rows.length === 0) return false;
  const statements = [
    store.logs.removeRequests(rows.at(-1)!.position, before, rows.length),
    ...countsOf(rows).map(([organizationId, count]) => store.logs.count(organizationId, 'request', -count)),
  ];
  try {
    await ledger.commit([entryOf(rows)], { statements, touches: [] });
  } catch (error) {
    // Another replica was removing the same.
    if (!(error instanceof ChangeRefused)) throw error;
  }
  return rows.length === step;
}

function countsOf(rows: readonly PlacedRow[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const { organization_id: id } of rows) if (id !== null) counts.set(id, (counts.get(id) ?? 0) + 1);
  return [...counts];
}

function entryOf(rows: readonly PlacedRow[]): AuditEntry {
  const chains = new Map<string, PrunedChain>();
  for (const { writer, seq, hash, mark } of rows) chains.set(writer, { writer, seq, hash, mark });
  return {
    organization_id: null,
    actor: { kind: 'service', id: 'retention', name: 'retention' },
    action: prunedAction,
    outcome: 'allowed',
    subject: null,
    revision: null,
    vault_id: null,
    ip_address: '',
    user_agent: '',
    request_id: '',
    details: { removed: rows.length, chains: [...chains.values()] },
  };
}
