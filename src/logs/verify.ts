/**
 * The offline verifier. With only the public key it detects edited entries, removed entries, a tail that was cut off,
 * and a chain that was rehashed without the key: every signed head must match the hash computed from the entries. A
 * checkpoint kept outside the database also reveals that checkpoints were removed together with entries. Without one,
 * the logs are only checked against their own checkpoints, and the report says so.
 *
 * Everything is signed within seconds. Entries that no checkpoint covers may therefore be from the last minute before
 * or after the newest one, and count as not yet signed; any others are reported. Entries that retention removed are
 * named by its own entries in the audit chain. Those from the audit log itself are in archives, which are verified if
 * they are available. If an entry by retention is not yet signed, only the keyring could prove that it is genuine, and
 * the report leaves this open.
 *
 * If a PostgreSQL standby took over, an entry records it. Entries that it had not received are missing: this is found
 * like any other gap, but reported as lost in a failover rather than as removed.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import type { Stream } from '../store/records/logs.ts';
import { type ArchiveReport, verifyArchives } from './archive.ts';
import { chainStart, type Link, linkHash, receiptOf } from './chain.ts';
import { type Checkpoint, checkpointHash, isSignedBy, type SignedCheckpoint } from './checkpoints.ts';
import { FailoverGaps } from './failover-gaps.ts';
import type { Finding, VerifyReport } from './findings.ts';
import {
  type Archived,
  type Continued,
  continuedIn,
  type Filed,
  idsIn,
  isDated,
  type LoggedLink,
  noteRemoved,
  removalIn,
  writtenAt,
} from './logged-link.ts';
import { type IsSound, rowFindings, type StoredRow } from './row-verification.ts';
import { ToldSubjects } from './told-subjects.ts';

export type { Filed, Finding, LoggedLink, VerifyReport };

export interface LogSource {
  links(stream: Stream): AsyncIterable<LoggedLink>;
  checkpoints(): AsyncIterable<SignedCheckpoint>;
  /** The rows that the audit log describes, if they are available. */
  rows?(): AsyncIterable<StoredRow>;
  /** The first fault in the database's schema or an index; null if there is none. */
  schema?(): Promise<string | null>;
}

export interface VerifyOptions {
  /** PEM. */
  readonly publicKey: string;
  /** A checkpoint that was kept outside the database. */
  readonly kept?: SignedCheckpoint | undefined;
  /** Receipts from clients. Each must be found. */
  readonly receipts?: readonly string[];
  /** The folder with the archives of the audit log; they are not verified if omitted. */
  readonly archives?: string | undefined;
  /** Whether a link's keyed mark is valid, if the keyring is available. */
  readonly hasMark?: (hash: string, mark: string) => boolean;
  /** Whether a row's stamp is valid, if the keyring is available. */
  readonly isSound?: IsSound | undefined;
  readonly now?: () => number;
}

const mostFindings = 100;
/** Entries are signed within seconds, on any replica; clocks may differ a little. */
const longestUnsigned = 60_000;
const streams: readonly Stream[] = ['audit', 'request']; // Audit first: it records what retention removed.

export async function verifyLogs(source: LogSource, options: VerifyOptions): Promise<VerifyReport> {
  const run = new Verification(options);
  const fault = (await source.schema?.()) ?? null;
  // With an altered schema, the database's answers prove nothing.
  if (fault !== null) run.find('altered-schema', fault);
  await readAll(source, options, run).catch(error => {
    // If an altered schema prevents reading, the alteration is still reported.
    if (fault === null) throw error;
  });
  return run.report();
}

async function readAll(source: LogSource, options: VerifyOptions, run: Verification): Promise<void> {
  for await (const checkpoint of source.checkpoints()) run.checkpoint(checkpoint);
  run.checkpointsEnd();
  for (const stream of streams) {
    for await (const link of source.links(stream)) run.link(stream, link);
    if (stream === 'audit') await run.auditsEnd(options.archives);
  }
  if (source.rows === undefined) return;
  for await (const { what, where } of rowFindings(source.rows(), run.told, options.isSound))
    run.find(what, where);
}

/** The signed hashes, by place in the chain. */
interface SignedChain {
  readonly hashes: Map<number, string>;
  readonly newest: number;
  /** When the newest was signed, in milliseconds. */
  readonly at: number;
}

const unsigned: SignedChain = { hashes: new Map(), newest: 0, at: 0 };

/** Something missing, and when it was signed. Whether a failover lost it is known only at the end. */
interface Gone extends Finding {
  readonly signedAt?: number;
}

class Verification {
  readonly #key: KeyObject;
  readonly #hasMark: VerifyOptions['hasMark'];
  readonly #now: number;
  readonly #findings: Gone[] = [];
  readonly #gaps = new FailoverGaps(longestUnsigned);
  readonly #counts: Record<Stream, number> = { request: 0, audit: 0 };
  readonly #signed = new Map<string, SignedChain>();
  readonly #links = new Map<string, Link>();
  readonly #pruned = new Map<string, Link>();
  /** The first links of chains whose beginning is missing. A later entry says what they follow. */
  readonly #starts = new Map<string, LoggedLink>();
  #archived: Archived | null = null;
  #archives: ArchiveReport | null = null;
  readonly #receipts: Set<string>;
  readonly #keptBody: string | null = null;
  readonly #kept: Checkpoint | null = null;
  #last: Checkpoint | null = null;
  #lastBody = '';
  #checkpoints = 0;
  /** When the newest checkpoint was signed; null if there is none. */
  #signedAt: number | null = null;
  #oldestUnsigned = Number.POSITIVE_INFINITY;
  #unsigned = 0;
  #open = 0;
  readonly #continued: Continued[] = [];
  /** What the entries say about the rows. */
  readonly told = new ToldSubjects();

  constructor({ publicKey, kept, receipts = [], hasMark, now = Date.now }: VerifyOptions) {
    this.#key = createPublicKey(publicKey);
    this.#hasMark = hasMark;
    this.#now = now();
    this.#receipts = new Set(receipts);
    if (kept === undefined) return;
    this.#kept = this.#read(kept);
    this.#keptBody = kept.body;
  }

  checkpoint(signed: SignedCheckpoint): void {
    const checkpoint = this.#read(signed);
    if (checkpoint === null) return;
    if (!this.#follows(checkpoint)) this.#gapBefore(checkpoint, 'does not follow the one before');
    if (checkpoint.number === this.#kept?.number && signed.body !== this.#keptBody)
      this.#gapBefore(checkpoint, 'is not the one that was kept');
    this.#checkpoints++;
    this.#last = checkpoint;
    this.#lastBody = signed.body;
    this.#noteHeads(checkpoint);
  }

  /** The heads that the external checkpoint signed must be present too. */
  checkpointsEnd(): void {
    const [kept, last] = [this.#kept, this.#last];
    if (kept !== null && kept.number > (last?.number ?? 0)) {
      const where = `checkpoints end at ${last?.number ?? 0}, but ${kept.number} was kept`;
      this.find('cut-off', where, timeOf(kept));
      this.#gaps.add(last === null ? 0 : timeOf(last), Number.POSITIVE_INFINITY);
    }
    if (kept !== null) this.#noteHeads(kept);
    const newest = [kept, last].filter(one => one !== null).map(timeOf);
    this.#signedAt = newest.length === 0 ? null : Math.max(...newest);
  }

  link(stream: Stream, link: LoggedLink): void {
    const ids = idsIn(stream, link);
    this.#counts[stream] += ids.length;
    const chain = `${stream} ${link.writer}`;
    const hash = this.#hashOf(stream, chain, link);
    const { hashes, newest } = this.#signed.get(chain) ?? unsigned;
    const isSigned = link.seq <= newest;
    if (hash !== link.hash || isMisfiled(link, isSigned)) this.find('edited', placeOf(stream, link));
    const isOurs = this.#hasMark?.(link.hash, link.mark);
    if ((hashes.get(link.seq) ?? hash) !== hash || isOurs === false)
      this.find('hashed-anew', placeOf(stream, link));
    const isBelieved = isSigned || this.#isPlausible(stream, link, ids.length, isOurs === true);
    // Continuing from the stored hash keeps one edit from being reported for every later link.
    this.#links.set(chain, { seq: link.seq, hash: link.hash, mark: link.mark });
    for (const id of this.#receipts.size > 0 ? ids : []) this.#receipts.delete(receiptOf(id, hash));
    const isProven = isSigned || isOurs === true;
    if (stream === 'audit') this.#noteAudit(link, isBelieved, isProven);
  }

  #noteAudit(link: LoggedLink, isBelieved: boolean, isProven: boolean): void {
    this.told.note(link.text);
    if (isBelieved) this.#noteRemoval(link, isProven);
    const continued = isProven ? continuedIn(link) : null;
    if (continued !== null) this.#continued.push(continued);
  }

  /** By now all removals are known. */
  async auditsEnd(folder: string | undefined): Promise<void> {
    for (const [chain, link] of this.#starts) {
      const before = this.#before('audit', this.#pruned.get(chain) ?? chainStart, link);
      if (linkHash('audit', link.writer, before, link.id, link.text) !== link.hash)
        this.find('edited', placeOf('audit', link));
    }
    if (this.#archived === null || folder === undefined) return;
    this.#archives = await verifyArchives(folder, this.#archived, this.#key, this.#receipts);
    for (const { what, where } of this.#archives.findings) this.find(what, where);
  }

  report(): VerifyReport {
    for (const [chain, { newest, at }] of this.#signed) {
      const reached = this.#links.get(chain)?.seq ?? this.#pruned.get(chain)?.seq ?? 0;
      if (reached < newest) this.find('cut-off', `${chain}: links ${reached + 1} to ${newest} are gone`, at);
    }
    if (this.#signedAt === null && this.#oldestUnsigned < this.#now - longestUnsigned)
      this.find('no-checkpoint', 'there are entries, but no checkpoint that covers any of them');
    for (const receipt of this.#receipts) this.find('receipt-not-found', receipt);
    const kept = this.#kept && { number: this.#kept.number, created_at: this.#kept.created_at };
    return {
      ok: this.#findings.length === 0,
      entries: this.#counts,
      checkpoints: this.#checkpoints,
      kept,
      archived: this.#archived && {
        number: this.#archived.number,
        entries: this.#archives?.entries ?? null,
      },
      unsigned: this.#unsigned,
      open: this.#open,
      continued: this.#continued,
      findings: this.#findings.map(gone => this.#toldFromFailover(gone)),
    };
  }

  #toldFromFailover({ signedAt, ...finding }: Gone): Finding {
    const isLost = signedAt !== undefined && this.#gaps.isLost(signedAt, this.#continued);
    return isLost ? { ...finding, what: 'lost-in-failover' } : finding;
  }

  /**
   * Whether an entry that no checkpoint covers may still be signed. A valid mark proves this for entries after the
   * newest checkpoint.
   */
  #isPlausible(stream: Stream, link: LoggedLink, entries: number, isOurs: boolean): boolean {
    this.#unsigned += entries;
    const time = writtenAt(link);
    this.#oldestUnsigned = Math.min(this.#oldestUnsigned, time);
    const [from, to] = this.#signedSoon();
    const isMisdated = !isDated(link, longestUnsigned) || time > Math.max(to, this.#now + longestUnsigned);
    const isLeftOut = time < from || (time > to && !isOurs);
    if (isMisdated) this.find('misdated', placeOf(stream, link));
    else if (isLeftOut) this.find('never-signed', placeOf(stream, link));
    return !isMisdated && !isLeftOut;
  }

  /** The time range in which an entry may be not yet signed. */
  #signedSoon(): readonly [number, number] {
    if (this.#signedAt === null) return [this.#now - longestUnsigned, Number.POSITIVE_INFINITY];
    return [this.#signedAt - longestUnsigned, this.#signedAt + longestUnsigned];
  }

  /**
   * Computed from the preceding link. If that is not known yet, the link's own hash is used until the end of the log.
   */
  #hashOf(stream: Stream, chain: string, link: LoggedLink): string {
    const known = this.#links.get(chain);
    if (stream === 'audit' && known === undefined && link.seq > 1) {
      this.#starts.set(chain, link);
      return link.hash;
    }
    const before = this.#before(stream, known ?? this.#pruned.get(chain) ?? chainStart, link);
    return linkHash(stream, link.writer, before, link.id, link.text);
  }

  #before(stream: Stream, known: Link, { seq, writer }: LoggedLink): Link {
    if (seq === known.seq + 1) return known;
    this.find('missing', `${stream} links ${known.seq + 1} to ${seq - 1} of writer ${writer}`);
    return { ...known, seq: seq - 1 };
  }

  #read(signed: SignedCheckpoint): Checkpoint | null {
    if (isSignedBy(this.#key, signed)) return JSON.parse(signed.body) as Checkpoint;
    this.find('bad-checkpoint', 'a checkpoint’s signature is not valid');
    return null;
  }

  #follows({ number, previous, full }: Checkpoint): boolean {
    if (this.#last === null) return number === 1 || full;
    return number === this.#last.number + 1 && previous === checkpointHash(this.#lastBody);
  }

  #gapBefore(checkpoint: Checkpoint, what: string): void {
    const at = timeOf(checkpoint);
    this.#gaps.add(this.#last === null ? 0 : timeOf(this.#last), at);
    this.find('bad-checkpoint', `checkpoint ${checkpoint.number} ${what}`, at);
  }

  #noteHeads({ heads, ...checkpoint }: Checkpoint): void {
    for (const { writer, stream, seq, hash } of heads) {
      const chain = `${stream} ${writer}`;
      const { hashes, ...known } = this.#signed.get(chain) ?? { ...unsigned, hashes: new Map() };
      const newest = seq > known.newest ? { newest: seq, at: timeOf(checkpoint) } : known;
      this.#signed.set(chain, { hashes: hashes.set(seq, hash), ...newest });
    }
  }

  /**
   * Anyone who can write to the database can claim that entries were pruned. The claim is proven only if we signed or
   * marked it.
   */
  #noteRemoval(link: LoggedLink, isProven: boolean): void {
    const removal = removalIn(link);
    if (removal === null) return;
    if (!isProven) this.#open++;
    for (const stream of streams)
      for (const { writer, ...link } of removal[stream])
        noteRemoved(this.#pruned, { writer: `${stream} ${writer}`, ...link });
    if ((removal.archived?.number ?? 0) > (this.#archived?.number ?? 0)) this.#archived = removal.archived;
  }

  find(what: Finding['what'], where: string, signedAt?: number): void {
    if (this.#findings.length >= mostFindings) return;
    this.#findings.push({ what, where, ...(signedAt === undefined ? {} : { signedAt }) });
  }
}

/** When it was signed, in milliseconds. */
function timeOf({ created_at }: Pick<Checkpoint, 'created_at'>): number {
  return Date.parse(created_at);
}

/** A head is signed after its blocks were filed. */
function isMisfiled({ filed }: LoggedLink, isSigned: boolean): boolean {
  return filed === 'wrong' || (filed === 'not-yet' && isSigned);
}

function placeOf(stream: Stream, { writer, seq, id }: LoggedLink): string {
  return `${stream} ${stream === 'audit' ? 'entry' : 'block'} ${id} (writer ${writer}, number ${seq})`;
}
