/**
 * The newest revision of every row according to the audit log: collected by this process from entries whose hash and
 * mark it verified, and updated as the log grows. Nothing computed by the database is relied on: an entry that is
 * hidden, edited or removed breaks its chain, and from then on no row is trusted.
 *
 * It is saved in the database with a stamp, so that a start reads only what came later. Restoring an older copy only
 * costs time: everything after it must be present, up to the signed heads.
 */
import { Failure } from '../contract/errors.ts';
import type { Revisions } from '../store/integrity/believing.ts';
import type { PlacedAuditRow, Stream } from '../store/records/logs.ts';
import type { Store } from '../store/store.ts';
import { chainStart, type Head, headDigest, isMarked, type Link, linkHash } from './chain.ts';
import { signedHeads } from './checkpoints.ts';
import { continuedIn, noteRemoved, readable, removalIn } from './logged-link.ts';
import { SubjectTable } from './subject-table.ts';
import { toldIn } from './told-subjects.ts';

interface RevisionIndexParts {
  readonly store: Pick<Store, 'logs' | 'onChange' | 'hearsChanges' | 'server'>;
  readonly keyring: {
    readonly logPublicKey: string;
    chainMark(hash: string): string;
    stamp(kind: string, values: readonly Uint8Array[]): Uint8Array;
    stampHolds(kind: string, values: readonly Uint8Array[], stamp: Uint8Array): boolean;
  };
}

const stretch = 500;
/** How many new entries are read before it is saved, to keep the next start fast. */
const keptEvery = 2_000;
/** How many changes are remembered individually. */
const longestJournal = 20_000;
/** After a change was announced, in milliseconds, so that many are read together. */
const delay = 50;
/** In milliseconds. */
const retryAfter = 1_000;
const kind = 'audited-revisions';

interface Raised {
  readonly id: string;
  readonly before: number;
}

/** The result of reading the log. */
class Walk {
  table = new SubjectTable();
  readonly chains = new Map<string, Link>();
  position = 0;
  /** The hash of the entry at that position. */
  hash = '';
  /** Chains that begin after archived entries, until an entry says what was archived. */
  readonly starts = new Map<string, PlacedAuditRow>();
  readonly archived = new Map<string, Link>();
  /** The same for the request log, for its lists. */
  readonly pruned = new Map<string, Link>();
  /** A standby took over: anything that it had not received is missing from the ends of chains. */
  isContinued = false;
}

export class RevisionIndex implements Revisions {
  readonly #parts: RevisionIndexParts;
  #walk: Walk | null = null;
  #broken: Failure | null = null;
  #brokenAt = 0;
  #journal: Raised[] = [];
  /** How many changes came before those in the journal. */
  #forgotten = 0;
  /** How often the connection had been lost at the last read. */
  #losses: number | undefined;
  /** Counts announced changes by others. A row that is read after one is checked against a log that includes it. */
  #heard = 0;
  /** The value of `#heard` when the last read began. */
  #read = 0;
  /** Entries read since it was last saved. */
  #unkept = 0;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: RevisionIndexParts) {
    this.#parts = parts;
    parts.store.onChange((_, isOwn) => {
      if (!isOwn) this.#heard++;
      this.#followSoon();
    });
  }

  get isCurrent(): boolean {
    // Blocking the announcements of changes must not help an attacker.
    const isHeard = this.#parts.store.hearsChanges() && this.#read === this.#heard;
    return this.#walk !== null && this.#broken === null && isHeard;
  }

  get learned(): number {
    return this.#forgotten + this.#journal.length;
  }

  newest(id: string): number {
    return this.#walk?.table.revisionOf(id) ?? 0;
  }

  newestAt(id: string, learned: number): number {
    for (let at = Math.max(0, learned - this.#forgotten); at < this.#journal.length; at++)
      if (this.#journal[at]!.id === id) return this.#journal[at]!.before;
    return this.newest(id);
  }

  /** The last link of a chain that retention removed, as far as the audit log has been read. */
  removed(stream: Stream, writer: string): Link | undefined {
    return (stream === 'audit' ? this.#walk?.archived : this.#walk?.pruned)?.get(writer);
  }

  /** Reads the log to its current end. Throws if the log is not as it was written. */
  follow(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#readOn().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    // The current run may already have read past the entries in question.
    this.#next ??= this.#running
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.follow();
      });
    return this.#next;
  }

  /** Adds an entry that this process has just stored. */
  note(text: string): void {
    if (this.#walk !== null) this.#learn(this.#walk, text, true);
  }

  /** Saves the index in the database, if enough entries came since it was last saved. */
  async keep(atLeast = keptEvery): Promise<void> {
    const { store, keyring } = this.#parts;
    if (this.#walk === null || this.#unkept < atLeast) return;
    await this.follow();
    if (this.#losses !== store.server?.losses()) return;
    this.#unkept = 0;
    const { table, chains, position, hash, archived, pruned, isContinued } = this.#walk;
    const removed = { archived: [...archived], pruned: [...pruned] };
    const head = { chains: [...chains], ...removed, position, hash, isContinued };
    const bytes = Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), table.packed()]);
    await store.logs.keepRevisions(Buffer.concat([keyring.stamp(kind, [bytes]), bytes]));
  }

  #followSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#walk !== null) this.follow().catch(() => {}); // Reads of rows report the failure.
    }, delay).unref();
  }

  async #readOn(): Promise<void> {
    this.#retry();
    const heard = this.#heard;
    const { store } = this.#parts;
    // After a lost connection another server may have taken over, with less in its log.
    if (this.#losses !== store.server?.losses() && this.#walk !== null && !(await this.#isThere(this.#walk)))
      this.#walk = null;
    this.#losses = store.server?.losses();
    if (this.#walk === null) await this.#load();
    else await this.#advance(this.#walk, true);
    this.#read = heard;
  }

  /** A broken log may have been repaired, but checking costs reading it again. */
  #retry(): void {
    if (this.#broken === null) return;
    if (performance.now() - this.#brokenAt < retryAfter) throw this.#broken;
    this.#broken = null;
    this.#walk = null;
  }

  async #load(): Promise<void> {
    const { store } = this.#parts;
    const heads = await this.#heads();
    let walk = this.#kept(await store.logs.keptRevisions());
    if (walk === null || !(await this.#isThere(walk))) walk = new Walk();
    await this.#advance(walk, false);
    for (const row of walk.starts.values()) this.#checkLink(row, walk.archived.get(row.writer) ?? chainStart);
    walk.starts.clear();
    for (const { writer, seq } of heads) {
      const reached = Math.max(walk.chains.get(writer)?.seq ?? 0, walk.archived.get(writer)?.seq ?? 0);
      if (reached < seq && !walk.isContinued)
        throw this.#break(`the audit log of writer ${writer} ends at ${reached}, but ${seq} was recorded`);
    }
    this.#walk = walk;
  }

  /** The state of each chain of the audit log when it was last signed, or recorded with the keyring. */
  async #heads(): Promise<Head[]> {
    const { store, keyring } = this.#parts;
    const signed = await signedHeads(store, keyring.logPublicKey);
    const stored = await store.logs.heads();
    const marked = stored.filter(head => isMarked(keyring, headDigest(head), head.mark));
    return [...signed.values(), ...marked].filter(({ stream }) => stream === 'audit');
  }

  #kept(bytes: Uint8Array | undefined): Walk | null {
    if (bytes === undefined) return null;
    const content = Buffer.from(bytes.subarray(32));
    if (!this.#parts.keyring.stampHolds(kind, [content], bytes.subarray(0, 32))) return null;
    const end = content.indexOf('\n');
    const head = readable(() => JSON.parse(content.toString('utf8', 0, end)));
    if (head?.pruned === undefined) return null; // Saved by an earlier version, with less in it.
    const walk = new Walk();
    walk.table = SubjectTable.unpacked(content.subarray(end + 1));
    for (const [writer, link] of head.chains) walk.chains.set(writer, link);
    for (const [writer, link] of head.archived) walk.archived.set(writer, link);
    for (const [writer, link] of head.pruned) walk.pruned.set(writer, link);
    return Object.assign(walk, { position: head.position, hash: head.hash, isContinued: head.isContinued });
  }

  /** Whether the entry that was read last is still at its position. */
  async #isThere({ position, hash }: Walk): Promise<boolean> {
    if (position === 0) return true;
    const [row] = await this.#parts.store.logs.auditStretch(position - 1, 1);
    return row?.position === position && row.hash === hash;
  }

  async #advance(walk: Walk, isNoted: boolean): Promise<void> {
    for (;;) {
      const rows = await this.#parts.store.logs.auditStretch(walk.position, stretch);
      for (const row of rows) this.#take(walk, row, isNoted);
      if (rows.length < stretch) return;
    }
  }

  #take(walk: Walk, row: PlacedAuditRow, isNoted: boolean): void {
    const known = walk.chains.get(row.writer) ?? walk.archived.get(row.writer);
    if (known === undefined && row.seq > 1 && !isNoted) walk.starts.set(row.writer, row);
    else this.#checkLink(row, known ?? chainStart);
    if (!isMarked(this.#parts.keyring, row.hash, row.mark))
      throw this.#break(`${placeOf(row)} was not written by this service`);
    walk.chains.set(row.writer, { seq: row.seq, hash: row.hash, mark: row.mark });
    walk.position = row.position;
    walk.hash = row.hash;
    this.#unkept++;
    this.#learn(walk, row.entry, isNoted);
    const removal = removalIn({ text: row.entry });
    for (const { writer, ...link } of removal?.audit ?? []) walk.archived.set(writer, link);
    for (const chain of removal?.request ?? []) noteRemoved(walk.pruned, chain);
    if (continuedIn({ ...row, text: row.entry }) !== null) walk.isContinued = true;
  }

  #checkLink(row: PlacedAuditRow, before: Link): void {
    const isNext = row.seq === before.seq + 1;
    if (!isNext || linkHash('audit', row.writer, before, row.id, row.entry) !== row.hash)
      throw this.#break(`${placeOf(row)} was edited, or does not follow the one before it`);
  }

  #learn({ table }: Walk, text: string, isNoted: boolean): void {
    const told = toldIn(text);
    if (told === null) return;
    const { subject, revision } = told;
    const before = table.revisionOf(subject.id);
    if (revision <= before) return;
    table.raise(subject.id, revision);
    if (!isNoted) return;
    this.#journal.push({ id: subject.id, before });
    if (this.#journal.length < longestJournal * 2) return;
    this.#journal = this.#journal.slice(longestJournal);
    this.#forgotten += longestJournal;
  }

  #break(what: string): Failure {
    const remedy = 'run strongroom audit verify, then restore a backup or the entry (docs/operations.md)';
    const cause = new Error(`stored data is not as it was written: ${what}; ${remedy}`);
    this.#broken = new Failure('INTERNAL_ERROR', { cause });
    this.#brokenAt = performance.now();
    return this.#broken;
  }
}

function placeOf({ writer, seq }: PlacedAuditRow): string {
  return `the audit entry ${seq} of writer ${writer}`;
}
