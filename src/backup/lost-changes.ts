/**
 * What happened after a backup and is lost by restoring it, as a newer copy of the audit log tells: above all what was
 * revoked since, because it works again. The copy is believed only where it is intact and goes on from the backup.
 */
import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { type Checkpoint, isSignedBy, type SignedCheckpoint, type SignedHead } from '../logs/checkpoints.ts';
import type { AuditEntry } from '../logs/entries.ts';
import { fileSource } from '../logs/source.ts';
import { type LoggedLink, verifyLogs } from '../logs/verify.ts';
import { BackupError } from './backup-error.ts';

/** What can be revoked again by its id. */
export const revocations = [
  'api-key.revoked',
  'access-key.revoked',
  'public-token.revoked',
  'member.removed',
] as const;
/** What else took something from someone, and has to be looked at. */
const withdrawals: ReadonlySet<string> = new Set([
  'member.updated',
  'member.invited',
  'group.updated',
  'group.deleted',
  'passkey.removed',
  'session.ended',
]);

export interface Revocation {
  readonly action: (typeof revocations)[number];
  readonly organizationId: string;
  readonly id: string;
  readonly name: string;
  readonly at: string;
}

export interface LostChanges {
  readonly revoked: readonly Revocation[];
  /** How many of each other kind there are, those that took something from someone first. */
  readonly others: readonly {
    readonly action: string;
    readonly count: number;
    readonly withdraws: boolean;
  }[];
}

export interface NewerLog {
  readonly file: string;
  /** PEM. */
  readonly publicKey: string;
  readonly hasMark: (hash: string, mark: string) => boolean;
  /** Where the backup's chains end. */
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
  const gathered = new Gathered();
  for await (const link of source.links('audit')) {
    const end = ends.get(link.writer);
    if (end !== undefined && link.seq === end.seq && link.hash === end.hash) met.add(link.writer);
    if (link.seq > (end?.seq ?? 0)) gathered.add(link);
  }
  if (met.size < ends.size) throw new BackupError('the newer log is not a later one of this backup’s');
  return gathered.changes();
}

class Gathered {
  readonly #revoked = new Map<string, Revocation>();
  readonly #others = new Map<string, number>();

  add({ text }: LoggedLink): void {
    const { action, outcome, subject, organization_id, created_at } = JSON.parse(text) as StoredEntry;
    if (outcome !== 'allowed') return;
    const known = revocations.find(one => one === action);
    if (known === undefined || subject === null || subject.id === null || organization_id === null) {
      this.#others.set(action, (this.#others.get(action) ?? 0) + 1);
      return;
    }
    const { id, name } = subject;
    this.#revoked.set(id, { action: known, organizationId: organization_id, id, name, at: created_at });
  }

  changes(): LostChanges {
    const others = [...this.#others].map(([action, count]) => ({
      action,
      count,
      withdraws: withdrawals.has(action),
    }));
    return {
      revoked: [...this.#revoked.values()],
      others: others.toSorted((a, b) => Number(b.withdraws) - Number(a.withdraws) || b.count - a.count),
    };
  }
}

/** How many audit entries a kept checkpoint proves that the backup has not; it may have missed more. */
export function lostEntries(kept: SignedCheckpoint, publicKey: string, heads: readonly SignedHead[]): number {
  const key: KeyObject = createPublicKey(publicKey);
  if (!isSignedBy(key, kept))
    throw new BackupError('the checkpoint was not signed with this backup’s keyring');
  const ends = new Map(heads.map(({ stream, writer, seq }) => [`${stream} ${writer}`, seq]));
  return (JSON.parse(kept.body) as Checkpoint).heads
    .filter(({ stream }) => stream === 'audit')
    .map(({ stream, writer, seq }) => Math.max(0, seq - (ends.get(`${stream} ${writer}`) ?? 0)))
    .reduce((sum, lost) => sum + lost, 0);
}
