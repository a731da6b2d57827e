/**
 * The offline verifier. With the public key alone it finds an entry that was edited, one that was removed, a
 * tail that was cut off, and a chain that someone without the key hashed anew: every signed head must be met
 * by the hash that the entries themselves give. A checkpoint kept outside of the database also shows when
 * checkpoints were removed together with the entries. Entries newer than the last checkpoint are counted as
 * not yet signed; those that no checkpoint covers although later ones exist are told of. What retention removed is
 * known from its own entries in the audit chain, once they are signed.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { firstIdAt } from '../contract/id.ts';
import type { Stream } from '../store/logs.ts';
import { entriesOf } from './blocks.ts';
import { chainStart, type Link, linkHash, receiptOf } from './chain.ts';
import { type Checkpoint, checkpointHash, isSignedBy, type SignedCheckpoint } from './checkpoints.ts';

export type Filed = 'right' | 'wrong' | 'not-yet';

/** A link of a chain as it is stored: an audit entry, or a block of request entries. */
export interface LoggedLink extends Link {
  readonly id: string;
  readonly writer: string;
  /** The entry, or the block. */
  readonly text: string;
  /** Whether what is stored beside the text, to find it by, says the same as it; or isn't there yet. */
  readonly filed?: Filed;
}

export interface LogSource {
  links(stream: Stream): AsyncIterable<LoggedLink>;
  checkpoints(): AsyncIterable<SignedCheckpoint>;
}

export interface VerifyOptions {
  /** PEM. */
  readonly publicKey: string;
  /** A checkpoint that was kept outside. */
  readonly kept?: SignedCheckpoint | undefined;
  /** Receipts that clients hold: each must be found. */
  readonly receipts?: readonly string[];
  /** Whether a link's keyed mark holds, where the keyring is at hand. */
  readonly hasMark?: (hash: string, mark: string) => boolean;
}

export interface Finding {
  readonly what:
    | 'edited'
    | 'missing'
    | 'cut-off'
    | 'hashed-anew'
    | 'never-signed'
    | 'bad-checkpoint'
    | 'receipt-not-found';
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
/** Entries are signed within seconds, on whatever replica, even where clocks differ by minutes. */
const longestUnsigned = 600_000;
const streams: readonly Stream[] = ['audit', 'request']; // Audit first: it says what retention removed.

export async function verifyLogs(source: LogSource, options: VerifyOptions): Promise<VerifyReport> {
  const run = new Verification(options);
  for await (const checkpoint of source.checkpoints()) run.checkpoint(checkpoint);
  if (options.kept !== undefined) run.keptCheckpoint(options.kept);
  for (const stream of streams) {
    for await (const link of source.links(stream)) run.link(stream, link);
  }
  return run.report();
}

/** The hashes that were signed, by their place in the chain. */
interface SignedChain {
  readonly hashes: Map<number, string>;
  readonly newest: number;
}

const unsigned: SignedChain = { hashes: new Map(), newest: 0 };

class Verification {
  readonly #key: KeyObject;
  readonly #hasMark: VerifyOptions['hasMark'];
  readonly #findings: Finding[] = [];
  readonly #counts: Record<Stream, number> = { request: 0, audit: 0 };
  readonly #signed = new Map<string, SignedChain>();
  readonly #bodies = new Map<number, string>();
  readonly #links = new Map<string, Link>();
  readonly #pruned = new Map<string, Link>();
  readonly #receipts: Set<string>;
  #last: Checkpoint | null = null;
  #unsigned = 0;

  constructor({ publicKey, receipts = [], hasMark }: VerifyOptions) {
    this.#key = createPublicKey(publicKey);
    this.#hasMark = hasMark;
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

  link(stream: Stream, link: LoggedLink): void {
    const ids = idsIn(stream, link);
    this.#counts[stream] += ids.length;
    const chain = `${stream} ${link.writer}`;
    const before = this.#before(stream, chain, link);
    const hash = linkHash(stream, link.writer, before, link.id, link.text);
    const { hashes, newest } = this.#signed.get(chain) ?? unsigned;
    const isSigned = link.seq <= newest;
    if (hash !== link.hash || isMisfiled(link, isSigned)) this.#find('edited', placeOf(stream, link));
    const isOurs = this.#hasMark?.(link.hash, link.mark);
    if ((hashes.get(link.seq) ?? hash) !== hash || isOurs === false)
      this.#find('hashed-anew', placeOf(stream, link));
    if (!isSigned) this.#noteUnsigned(stream, link, ids.length);
    // Going on from what is stored keeps one edit from being reported for every later link.
    this.#links.set(chain, { seq: link.seq, hash: link.hash, mark: link.mark });
    for (const id of this.#receipts.size > 0 ? ids : []) this.#receipts.delete(receiptOf(id, hash));
    // Whoever can write to the database can say that entries were pruned: it counts when we signed or marked it.
    if (stream === 'audit' && (isSigned || isOurs)) this.#notePruned(link);
  }

  report(): VerifyReport {
    for (const [chain, { newest }] of this.#signed) {
      const reached = this.#links.get(chain)?.seq ?? this.#pruned.get(chain)?.seq ?? 0;
      if (reached < newest) this.#find('cut-off', `${chain}: links ${reached + 1} to ${newest} are gone`);
    }
    for (const receipt of this.#receipts) this.#find('receipt-not-found', receipt);
    return {
      ok: this.#findings.length === 0,
      entries: this.#counts,
      checkpoints: this.#bodies.size,
      unsigned: this.#unsigned,
      findings: this.#findings,
    };
  }

  #noteUnsigned(stream: Stream, link: LoggedLink, entries: number): void {
    this.#unsigned += entries;
    if (this.#last !== null && link.id < firstIdAt(Date.parse(this.#last.created_at) - longestUnsigned))
      this.#find('never-signed', placeOf(stream, link));
  }

  #before(stream: Stream, chain: string, { seq, writer }: LoggedLink): Link {
    const known = this.#links.get(chain) ?? this.#pruned.get(chain) ?? chainStart;
    if (seq === known.seq + 1) return known;
    this.#find('missing', `${stream} links ${known.seq + 1} to ${seq - 1} of writer ${writer}`);
    return { ...known, seq: seq - 1 };
  }

  #open({ body, signature }: SignedCheckpoint): Checkpoint | null {
    if (isSignedBy(this.#key, { body, signature })) return JSON.parse(body) as Checkpoint;
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
      const { hashes, newest } = this.#signed.get(chain) ?? { hashes: new Map(), newest: 0 };
      this.#signed.set(chain, { hashes: hashes.set(seq, hash), newest: Math.max(newest, seq) });
    }
  }

  #notePruned({ text }: LoggedLink): void {
    if (!text.includes(prunedAction)) return;
    const { action, details } = JSON.parse(text) as { action: string; details: { chains?: PrunedChain[] } };
    if (action !== prunedAction) return;
    for (const { writer, ...link } of details.chains ?? []) this.#pruned.set(`request ${writer}`, link);
  }

  #find(what: Finding['what'], where: string): void {
    if (this.#findings.length < mostFindings) this.#findings.push({ what, where });
  }
}

/** A head is signed after its blocks were filed. */
function isMisfiled({ filed }: LoggedLink, isSigned: boolean): boolean {
  return filed === 'wrong' || (filed === 'not-yet' && isSigned);
}

/** The ids of the entries; none where they can't be read, which is an edit. */
function idsIn(stream: Stream, { id, text }: LoggedLink): string[] {
  if (stream === 'audit') return [id];
  try {
    return entriesOf(id, text).map(entry => entry.id);
  } catch {
    return [];
  }
}

function placeOf(stream: Stream, { writer, seq, id }: LoggedLink): string {
  return `${stream} ${stream === 'audit' ? 'entry' : 'block'} ${id} (writer ${writer}, number ${seq})`;
}
