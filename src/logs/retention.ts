/**
 * Retention: request entries past their age go, block by block, oldest first, a few at a time. What was removed is itself an
 * entry in the audit chain, with the last link of each chain that was shortened, so that the verifier can
 * tell retention from tampering. It belongs to the process that serves: only that one can file what it has not filed
 * yet, and what is not filed is not counted. Audit entries stay: they prove which revision of a row is the newest.
 */
import { firstIdAt } from '../contract/id.ts';
import type { RequestBlockRow } from '../store/request-logs.ts';
import type { Store } from '../store/store.ts';
import { type BlockPart, countsOf, partsIn } from './blocks.ts';
import type { AuditEntry } from './entries.ts';
import { ChangeRefused, type Ledger } from './ledger.ts';
import { type PrunedChain, prunedAction } from './logged-link.ts';

export interface RetentionParts {
  readonly store: Store;
  readonly ledger: Ledger;
  /** Removal is permanent, so a clock that jumps ahead must not cause it. */
  readonly aged: () => number;
  /** 0 keeps everything. */
  readonly days: number;
}

/** In blocks. */
const step = 50;
const day = 86_400_000;

/** Removes one batch; true if more may be left. */
export async function pruneStep({ store, ledger, aged, days }: RetentionParts): Promise<boolean> {
  if (days === 0) return false;
  await ledger.settle();
  const blocks = await store.requestLogs.oldest(firstIdAt(aged() - days * day), step);
  if (blocks.length === 0) return false;
  const parts = blocks.flatMap(({ text }) => partsIn(text));
  const counts = countsOf('request', parts).map(row => ({ ...row, total: -row.total }));
  const statements = store.requestLogs.remove(
    blocks.map(({ id }) => id),
    counts.map(row => row.organization_id),
  );
  if (counts.length > 0) statements.push(store.logs.count(counts));
  try {
    await ledger.commit([entryOf(blocks, parts)], { statements, touches: [] });
  } catch (error) {
    // Another replica was removing the same.
    if (!(error instanceof ChangeRefused)) throw error;
  }
  return blocks.length === step;
}

function entryOf(blocks: readonly RequestBlockRow[], parts: readonly BlockPart[]): AuditEntry {
  const removed = parts.reduce((sum, { entries, requests }) => sum + (requests ?? entries), 0);
  const chains = new Map<string, PrunedChain>();
  for (const { writer, seq, hash, mark } of blocks) chains.set(writer, { writer, seq, hash, mark });
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
    details: { removed, chains: [...chains.values()] },
  };
}
