/**
 * The offline verifier. With the public key alone it finds an entry that was edited, one that was removed, a
 * tail that was cut off, and a chain that someone without the key hashed anew: every signed head must be met
 * by the hash that the entries themselves give. A checkpoint kept outside of the database also shows when
 * checkpoints were removed together with the entries. Entries newer than the last checkpoint are counted as
 * not yet signed. What retention removed is known from its own entries in the audit chain.
 */
import { createPublicKey, type KeyObject, verify as verifySignature } from 'node:crypto';
import type { Stream } from '../store/logs.ts';
import { chainStart, type Link, linkHash, receiptOf } from './chain.ts';
import { type Checkpoint, checkpointHash } from './checkpoints.ts';

export interface LoggedEntry {
  readonly id: string;
  readonly organization_id: string | null;
  readonly writer: string;
  readonly seq: number;
  readonly entry: string;
  readonly hash: string;
  readonly mark: string;
  /** The columns beside the entry, which must say the same as it. */
  readonly columns?: Readonly<Record<string, unknown>>;
}

export interface SignedCheckpoint {
  readonly body: string;
  readonly signature: Uint8Array;
}

export interface LogSource {
  entries(stream: Stream): AsyncIterable<LoggedEntry>;
  checkpoints(): AsyncIterable<SignedCheckpoint>;
}

export interface VerifyOptions {
  /** PEM. */
  readonly publicKey: string;
  /** A checkpoint that was kept outside. */
  readonly kept?: SignedCheckpoint | undefined;
  /** Receipts that clients hold: each must be found. */
  readonly receipts?: readonly string[];
}

export interface Finding {
  readonly what: 'edited' | 'missing' | 'cut-off' | 'hashed-anew' | 'bad-checkpoint' | 'receipt-not-found';
  readonly where: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly entries: Readonly<Record<Stream, number>>;
  readonly checkpoints: number;
  /** Entries newer than every checkpoint. */
  readonly unsigned: number;
  readonly findings: readonly Finding[];
}

/** The entry with which retention says what it removed. */
export const prunedAction = 'request_logs.pruned';

export interface PrunedChain extends Link {
  readonly writer: string;
}

const mostFindings = 100;
const streams: readonly Stream[] = ['audit', 'request']; // Audit first: it says what retention removed.

export async function verifyLogs(source: LogSource, options: VerifyOptions): Promise<VerifyReport> {
  const run = new Verification(options);
  for await (const checkpoint of source.checkpoints()) run.checkpoint(checkpoint);
  if (options.kept !== undefined) run.keptCheckpoint(options.kept);
  for (const stream of streams) {
    for await (const entry of source.entries(stream)) run.entry(stream, entry);
  }
  return run.report();
}

class Verification {
  readonly #key: KeyObject;
  readonly #findings: Finding[] = [];
  readonly #counts: Record<Stream, number> = { request: 0, audit: 0 };
  /** Chain -> seq -> the hash that was signed. */
  readonly #signed = new Map<string, Map<number, string>>();
  readonly #bodies = new Map<number, string>();
  readonly #links = new Map<string, Link>();
  readonly #pruned = new Map<string, Link>();
  readonly #receipts: Set<string>;
  #last: Checkpoint | null = null;

  constructor({ publicKey, receipts = [] }: VerifyOptions) {
    this.#key = createPublicKey(publicKey);
    this.#receipts = new Set(receipts);
  }

  checkpoint(signed: SignedCheckpoint): void {
    const checkpoint = this.#open(signed);
    if (checkpoint === null) return;
    if (!this.#follows(checkpoint))
      this.#find('bad-checkpoint', `checkpoint ${checkpoint.number} does not follow the one before`);
    this.#bodies.set(checkpoint.number, signed.body);
    this.#last = checkpoint;
    this.#noteHeads(checkpoint);
  }

  /** The one kept outside: the database's of the same number must be the very same. */
  keptCheckpoint(signed: SignedCheckpoint): void {
    const checkpoint = this.#open(signed);
    if (checkpoint === null) return;
    const stored = this.#bodies.get(checkpoint.number);
    if (stored !== undefined && stored !== signed.body) {
      this.#find('bad-checkpoint', `checkpoint ${checkpoint.number} is not the one that was kept`);
    }
    if (checkpoint.number > (this.#last?.number ?? 0)) {
      this.#find(
        'cut-off',
        `checkpoints end at ${this.#last?.number ?? 0}, but ${checkpoint.number} was kept`,
      );
    }
    this.#noteHeads(checkpoint);
  }

  entry(stream: Stream, entry: LoggedEntry): void {
    this.#counts[stream]++;
    const chain = `${stream} ${entry.writer}`;
    const before = this.#before(stream, chain, entry);
    const hash = linkHash(stream, entry.writer, before, entry.id, entry.entry);
    if (hash !== entry.hash || !columnsMatch(entry)) this.#find('edited', placeOf(stream, entry));
    const signed = this.#signed.get(chain)?.get(entry.seq);
    if (signed !== undefined && signed !== hash) this.#find('hashed-anew', placeOf(stream, entry));
    // Going on from what is stored keeps one edit from being reported for every later entry.
    this.#links.set(chain, { seq: entry.seq, hash: entry.hash, mark: entry.mark });
    this.#receipts.delete(receiptOf(entry.id, hash));
    if (stream === 'audit') this.#notePruned(entry);
  }

  report(): VerifyReport {
    let unsigned = 0;
    for (const [chain, heads] of this.#signed) {
      const newest = Math.max(...heads.keys());
      const reached = this.#links.get(chain)?.seq ?? this.#pruned.get(chain)?.seq ?? 0;
      if (reached < newest) this.#find('cut-off', `${chain}: entries ${reached + 1} to ${newest} are gone`);
    }
    for (const [chain, { seq }] of this.#links) {
      const newest = Math.max(0, ...(this.#signed.get(chain)?.keys() ?? []));
      unsigned += Math.max(0, seq - newest);
    }
    for (const receipt of this.#receipts) this.#find('receipt-not-found', receipt);
    return {
      ok: this.#findings.length === 0,
      entries: this.#counts,
      checkpoints: this.#bodies.size,
      unsigned,
      findings: this.#findings,
    };
  }

  #before(stream: Stream, chain: string, entry: LoggedEntry): Link {
    const known = this.#links.get(chain) ?? this.#pruned.get(chain) ?? chainStart;
    if (entry.seq === known.seq + 1) return known;
    this.#find('missing', `${stream} entries ${known.seq + 1} to ${entry.seq - 1} of writer ${entry.writer}`);
    return { ...known, seq: entry.seq - 1 };
  }

  #open({ body, signature }: SignedCheckpoint): Checkpoint | null {
    if (verifySignature(null, Buffer.from(body), this.#key, signature)) return JSON.parse(body) as Checkpoint;
    this.#find('bad-checkpoint', 'a checkpoint’s signature does not hold');
    return null;
  }

  #follows(checkpoint: Checkpoint): boolean {
    const last = this.#last;
    if (last === null) return checkpoint.number === 1 || checkpoint.full;
    return (
      checkpoint.number === last.number + 1 &&
      checkpoint.previous === checkpointHash(this.#bodies.get(last.number)!)
    );
  }

  #noteHeads({ heads }: Checkpoint): void {
    for (const { writer, stream, seq, hash } of heads) {
      const chain = `${stream} ${writer}`;
      const known = this.#signed.get(chain) ?? new Map<number, string>();
      known.set(seq, hash);
      this.#signed.set(chain, known);
    }
  }

  #notePruned({ entry }: LoggedEntry): void {
    if (!entry.includes(prunedAction)) return;
    const { action, details } = JSON.parse(entry) as { action: string; details: { chains?: PrunedChain[] } };
    if (action !== prunedAction) return;
    for (const { writer, ...link } of details.chains ?? []) this.#pruned.set(`request ${writer}`, link);
  }

  #find(what: Finding['what'], where: string): void {
    if (this.#findings.length < mostFindings) this.#findings.push({ what, where });
  }
}

function placeOf(stream: Stream, { writer, seq, id }: LoggedEntry): string {
  return `${stream} entry ${id} (writer ${writer}, number ${seq})`;
}

function columnsMatch({ id, entry, columns = {} }: LoggedEntry): boolean {
  const said = JSON.parse(entry) as Record<string, unknown>;
  if (said.id !== id) return false;
  return Object.entries(columns).every(([name, value]) => (said[name] ?? null) === value);
}
