/**
 * The changes made since a backup, which restoring it would lose, according to a newer copy of the audit log: above all
 * access that was revoked since, because it becomes valid again. The copy is accepted only if it is intact and
 * continues the backup's log. Unknown actions are reported rather than ignored.
 */
import { createPublicKey } from 'node:crypto';
import { effectOf, hasEffect, mayWithdraw } from '../contract/audit-actions.ts';
import { type Checkpoint, isSignedBy, type SignedCheckpoint, type SignedHead } from '../logs/checkpoints.ts';
import type { AuditEntry } from '../logs/entries.ts';
import { fileSource } from '../logs/source.ts';
import { type LoggedLink, verifyLogs } from '../logs/verify.ts';
import { BackupError } from './backup-error.ts';

/** Access that was, or may have been, withdrawn, and is valid again. */
export interface Withdrawal {
  readonly action: string;
  readonly organizationId: string | null;
  /** Null if the entry names no subject. */
  readonly id: string | null;
  readonly name: string;
  readonly at: string;
}

export interface LostChanges {
  /** One per subject and action, in the order of the newest entries. */
  readonly withdrawn: readonly Withdrawal[];
  /** Actions that this version does not know, with the number of their entries. */
  readonly unknown: readonly { readonly action: string; readonly count: number }[];
  /** Entries that are no longer in the log because they were archived. */
  readonly archived: number;
  /** The number of other changes. */
  readonly others: number;
}

interface NewerLog {
  readonly file: string;
  /** PEM. */
  readonly publicKey: string;
  readonly hasMark: (hash: string, mark: string) => boolean;
  /** The ends of the backup's chains. */
  readonly heads: readonly SignedHead[];
}

type StoredEntry = AuditEntry & { readonly created_at: string };

export async function lostChanges({ file, publicKey, hasMark, heads }: NewerLog): Promise<LostChanges> {
  const source = fileSource(file);
  const { findings } = await verifyLogs(source, { publicKey, hasMark }).catch(error => {
    throw new BackupError(`the newer log can’t be read`, error);
  });
  if (findings.length > 0)
    throw new BackupError(`the newer log is not intact: ${findings[0]!.what}: ${findings[0]!.where}`);
  const ends = new Map(heads.filter(({ stream }) => stream === 'audit').map(head => [head.writer, head]));
  const met = new Set<string>();
  const reached = new Map([...ends].map(([writer, { seq }]) => [writer, seq]));
  const gathered = new Gathered();
  for await (const link of source.links('audit')) {
    const end = ends.get(link.writer);
    if (end !== undefined && link.seq === end.seq && link.hash === end.hash) met.add(link.writer);
    if (link.seq <= (end?.seq ?? 0)) continue;
    gathered.miss(link.seq - (reached.get(link.writer) ?? 0) - 1);
    reached.set(link.writer, link.seq);
    gathered.add(link);
  }
  if (met.size < ends.size) throw new BackupError('the newer log does not continue this backup’s log');
  return gathered.changes();
}

interface Gathering extends Withdrawal {
  readonly revision: number;
}

class Gathered {
  readonly #withdrawn = new Map<string, Gathering>();
  readonly #unknown = new Map<string, number>();
  /** The revision at which each subject was restored. */
  readonly #restored = new Map<string, number>();
  #archived = 0;
  #others = 0;

  miss(entries: number): void {
    this.#archived += entries;
  }

  add({ text }: LoggedLink): void {
    const entry = JSON.parse(text) as StoredEntry;
    const { action, outcome, subject } = entry;
    if (outcome !== 'allowed') return;
    if (effectOf(entry) === null) this.#unknown.set(action, (this.#unknown.get(action) ?? 0) + 1);
    else if (mayWithdraw(action)) this.#withdraw(entry);
    else this.#others++;
    const id = subject?.id ?? null;
    if (id !== null && hasEffect(action, 'restores')) keepGreatest(this.#restored, id, entry.revision ?? 0);
  }

  #withdraw({ action, subject, organization_id, created_at, revision }: StoredEntry): void {
    const { id = null, name = '' } = subject ?? {};
    const key = `${action} ${id}`;
    if ((this.#withdrawn.get(key)?.revision ?? -1) > (revision ?? 0)) return;
    this.#withdrawn.set(key, {
      action,
      organizationId: organization_id,
      id,
      name,
      at: created_at,
      revision: revision ?? 0,
    });
  }

  changes(): LostChanges {
    const isBack = ({ action, id, revision }: Gathering) =>
      hasEffect(action, 'trashes') && id !== null && (this.#restored.get(id) ?? 0) > revision;
    return {
      withdrawn: [...this.#withdrawn.values()]
        .filter(one => !isBack(one))
        .map(({ revision: _, ...one }) => one)
        .toSorted((a, b) => (a.at < b.at ? -1 : 1)),
      unknown: [...this.#unknown].map(([action, count]) => ({ action, count })),
      archived: this.#archived,
      others: this.#others,
    };
  }
}

/** Entries of several writers are not in order. */
function keepGreatest(kept: Map<string, number>, key: string, given: number): void {
  kept.set(key, Math.max(given, kept.get(key) ?? 0));
}

/** The number of audit entries that a kept checkpoint proves and the backup lacks. There may have been more. */
export function lostEntries(kept: SignedCheckpoint, publicKey: string, heads: readonly SignedHead[]): number {
  const key = createPublicKey(publicKey);
  if (!isSignedBy(key, kept))
    throw new BackupError('the checkpoint was not signed with this backup’s keyring');
  const ends = new Map(heads.map(({ stream, writer, seq }) => [`${stream} ${writer}`, seq]));
  return (JSON.parse(kept.body) as Checkpoint).heads
    .filter(({ stream }) => stream === 'audit')
    .map(({ stream, writer, seq }) => Math.max(0, seq - (ends.get(`${stream} ${writer}`) ?? 0)))
    .reduce((sum, lost) => sum + lost, 0);
}
