/**
 * The ledger: the only way in which callers' actions are stored. It accepts a request entry, or a change with its audit
 * entries, and resolves when it is durable. Everything that arrives during a sync forms the next group, so one sync
 * serves many.
 *
 * Each process writes two chains of its own, one per stream: a group's requests are one block and one link, and each
 * audit entry is a link. If the store refuses a change, its entries are left out, and the rest of its group is chained
 * again and resubmitted. After any other failure it is unknown what was stored, so the ledger starts new chains under a
 * new writer's id. It does the same after losing a connection to the server, because another server may have taken
 * over.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { Failure } from '../contract/errors.ts';
import type { NewId } from '../contract/id.ts';
import type { Meter } from '../metrics/meter.ts';
import { type Statement, type Unit, UnitsRefused, type WriteRefusal } from '../store/engine/engine.ts';
import type { NewAuditRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow } from '../store/records/request-logs.ts';
import type { Store } from '../store/store.ts';
import { type BlockPart, blockOf, countsOf, entryIdIn, type NewBlock, newBlockId } from './blocks.ts';
import { chainStart, type Link, linkHash, type Marker, receiptOf } from './chain.ts';
import { type AuditEntry, auditText, pastLimit, type RequestEntry } from './entries.ts';
import { Filing, type FilingStep, fileLeft, setHead } from './filing.ts';
import { HourCounts } from './hourly-counts.ts';
import { Refusals } from './refusals.ts';

/** What must be stored together with an audit entry. */
export interface Change {
  readonly statements: readonly Statement[];
  /** Ids whose cached copies are stale afterwards. */
  readonly touches: readonly string[];
}

/** The store refused a change. Neither it nor its entries were stored. */
export class ChangeRefused extends Error {
  readonly refusal: WriteRefusal;

  constructor(refusal: WriteRefusal) {
    super(`the change was refused: ${refusal}`);
    this.name = 'ChangeRefused';
    this.refusal = refusal;
  }
}

/** A request, audit entries with their change, or, with neither, a call to file everything. */
interface Pending {
  readonly request: RequestEntry | null;
  readonly audits: readonly AuditEntry[] | null;
  readonly change: Change | null;
  readonly resolve: (receipt: string) => void;
  readonly reject: (error: Error) => void;
}

/** An entry as it is stored, and the organization whose total includes it. */
interface ChainedAudit extends NewAuditRow {
  readonly organization_id: string | null;
}

/** A group after it has been chained. */
interface Draft {
  readonly block: RequestBlockRow | null;
  readonly parts: readonly BlockPart[];
  readonly audits: readonly ChainedAudit[];
  /** One for each element of the group. */
  readonly receipts: readonly string[];
}

type Heads = Readonly<Record<Stream, Link>>;

const noHeads: Heads = { request: chainStart, audit: chainStart };
const largestGroup = 400;
const longestQueue = 20_000;
const longestGathering = 4;

/** The ledger of another thread of this process, which writes to the same log. */
export interface OtherLedger {
  settle(): Promise<void>;
  writeHourCounts(): Promise<void>;
}

interface LedgerParts {
  readonly store: Store;
  readonly keyring: Marker;
  readonly now: () => number;
  readonly newId: NewId;
  readonly meter: Meter;
  readonly other?: OtherLedger | undefined;
  /** Called with each audit entry once it is durable. */
  readonly committed?: (text: string) => void;
}

export class Ledger implements OtherLedger {
  readonly #parts: LedgerParts;
  readonly #hourCounts: HourCounts;
  /** Groups refusals, which may be frequent. */
  readonly refusals: Refusals;
  #writer: string;
  #heads: Heads = noHeads;
  #filing: Filing;
  /** The filing of blocks that earlier writers left; null until it is needed. */
  #leftovers: Promise<void> | null = null;
  #queue: Pending[] = [];
  #flushing: Promise<void> | null = null;
  /** The number of lost connections when the chains were started. */
  #losses: number;
  readonly #committed: (entries: number, milliseconds: number) => void;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    this.#committed = commitsOf(parts.meter);
    this.#losses = lossesOf(parts);
    this.#writer = parts.newId();
    this.#filing = new Filing(parts, this.#writer);
    this.#hourCounts = new HourCounts(parts.store, parts.now);
    this.refusals = new Refusals({
      record: entry => this.#enqueue(entry, null, null),
      commit: entries => this.commit(entries),
      now: parts.now,
    });
  }

  /** Whether its chains contain anything yet. */
  get hasWritten(): boolean {
    return this.#heads !== noHeads;
  }

  /** The number of entries and changes that wait for the next sync. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Resolves with the entry's receipt once it is durable. */
  record(entry: RequestEntry): Promise<string> {
    return entry.status === pastLimit ? this.refusals.request(entry) : this.#enqueue(entry, null, null);
  }

  /** Stores a change and its entries, all or nothing. Resolves with the first entry's receipt. */
  commit(entries: readonly AuditEntry[], change: Change | null = null): Promise<string> {
    return this.#enqueue(null, entries, change);
  }

  /** Everything submitted is settled when this resolves. */
  async drain(): Promise<void> {
    this.refusals.flush();
    while (this.#flushing !== null) await this.#flushing;
  }

  /** Everything that is durable now is in lists, in totals and in the heads to be signed when this resolves. */
  async settle(): Promise<void> {
    const own = this.#filing.isBehind ? this.#enqueue(null, null, null) : null;
    await Promise.all([own, this.#fileLeftovers(), this.#parts.other?.settle()]);
  }

  /** Durable requests are in the hourly counts when this resolves. */
  async writeHourCounts(): Promise<void> {
    await Promise.all([this.#hourCounts.write(), this.#parts.other?.writeHourCounts()]);
  }

  async #fileLeftovers(): Promise<void> {
    const filing = this.#leftovers ?? fileLeft(this.#parts, this.#writer);
    this.#leftovers = filing;
    try {
      await filing;
    } catch (error) {
      if (this.#leftovers === filing) this.#leftovers = null;
      throw error;
    }
  }

  #enqueue(
    request: RequestEntry | null,
    audits: readonly AuditEntry[] | null,
    change: Change | null,
  ): Promise<string> {
    if (this.#queue.length >= longestQueue) {
      return Promise.reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ request, audits, change, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      const group = this.#queue.splice(0, largestGroup);
      if (this.#losses !== lossesOf(this.#parts)) this.#beginAnew();
      // Whatever fails here, every promise in the group is settled.
      await this.#commitGroup(group).catch(error => this.#startAnew(error, group));
    }
    this.#flushing = null;
  }

  /**
   * The group grows as long as each turn of the event loop brings more, because a sync costs the same for all of them.
   * The first turn only ends the current one; new requests from clients that were just answered arrive in the next.
   */
  async #gather(): Promise<void> {
    await turn();
    for (let turns = 0, before = 0; turns < longestGathering && this.#queue.length > before; turns++) {
      before = this.#queue.length;
      await turn();
    }
  }

  async #commitGroup(group: readonly Pending[]): Promise<void> {
    if (group.length === 0) return;
    const draft = this.#draft(group);
    const changes = group.filter(({ change }) => change !== null);
    const filing = this.#filing.step(draft.block, draft.parts, group.some(isFlushRequest));
    const started = performance.now();
    try {
      await this.#parts.store.commit([...changes.map(unitOf), this.#logUnit(draft, filing)]);
    } catch (error) {
      return this.#afterFailure(error, group, changes);
    }
    this.#committed(group.length, performance.now() - started);
    filing.done();
    this.#moveHeads(draft);
    for (const { entry } of draft.audits) this.#parts.committed?.(entry);
    for (const part of draft.parts) this.#hourCounts.note(part);
    for (const [index, { resolve }] of group.entries()) resolve(draft.receipts[index]!);
  }

  #moveHeads({ block, audits }: Draft): void {
    const { request, audit } = this.#heads;
    this.#heads = { request: linkOf(block ?? request), audit: linkOf(audits.at(-1) ?? audit) };
  }

  async #afterFailure(error: unknown, group: readonly Pending[], changes: readonly Pending[]): Promise<void> {
    const refused = new Set<Pending>();
    for (const [index, refusal] of error instanceof UnitsRefused ? error.refusals : []) {
      const change = changes[index];
      if (change === undefined) continue; // The unit of the log itself.
      change.reject(new ChangeRefused(refusal));
      refused.add(change);
    }
    if (refused.size === 0) this.#startAnew(error, group);
    else await this.#commitGroup(group.filter(pending => !refused.has(pending)));
  }

  #startAnew(cause: unknown, group: readonly Pending[]): void {
    this.#beginAnew();
    const failure = cause instanceof Failure ? cause : new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
    for (const { reject } of group) reject(failure);
  }

  #beginAnew(): void {
    this.#losses = lossesOf(this.#parts);
    this.#writer = this.#parts.newId();
    this.#heads = noHeads;
    this.#filing = new Filing(this.#parts, this.#writer);
    this.#leftovers = null;
  }

  #draft(group: readonly Pending[]): Draft {
    const createdAt = new Date(this.#parts.now()).toISOString();
    const { block, parts, places } = this.#block(group, createdAt);
    const audits: ChainedAudit[] = [];
    let requests = 0;
    const receipts = group.map(pending => {
      if (pending.request !== null) return receiptOf(entryIdIn(block!.id, places[requests++]!), block!.hash);
      if (isFlushRequest(pending)) return '';
      const first = audits.length;
      for (const entry of pending.audits!) audits.push(this.#audit(audits.at(-1), entry, createdAt));
      return receiptOf(audits[first]!.id, audits[first]!.hash);
    });
    return { block, parts, audits, receipts };
  }

  #block(
    group: readonly Pending[],
    createdAt: string,
  ): Pick<Draft, 'block' | 'parts'> & Pick<NewBlock, 'places'> {
    const requests = group.flatMap(({ request }) => request ?? []);
    if (requests.length === 0) return { block: null, parts: [], places: [] };
    const { text, parts, places } = blockOf(createdAt, requests);
    const id = newBlockId(this.#parts.newId);
    const link = this.#link('request', this.#heads.request, id, text);
    return { block: { id, text, writer: this.#writer, ...link }, parts, places };
  }

  #audit(before: Link = this.#heads.audit, entry: AuditEntry, createdAt: string): ChainedAudit {
    const id = this.#parts.newId();
    const text = auditText(id, createdAt, entry);
    const link = this.#link('audit', before, id, text);
    return { id, organization_id: entry.organization_id, entry: text, writer: this.#writer, ...link };
  }

  #link(stream: Stream, before: Link, id: string, text: string): Link {
    const hash = linkHash(stream, this.#writer, before, id, text);
    return { seq: before.seq + 1, hash, mark: this.#parts.keyring.chainMark(hash) };
  }

  #logUnit({ block, audits }: Draft, filing: FilingStep): Unit {
    const { logs, requestLogs } = this.#parts.store;
    const statements: Statement[] = block === null ? [] : [requestLogs.append(block)];
    statements.push(...filing.statements);
    const last = audits.at(-1);
    if (last !== undefined) statements.push(setHead(this.#parts, 'audit', last));
    const counts = [...filing.counts, ...countsOf('audit', audits.map(asOne))];
    if (counts.length > 0) statements.push(logs.count(counts));
    // Last: positions are locked from here to the commit, and every replica takes them after its totals.
    if (last !== undefined) statements.push(logs.appendAudits(audits));
    return { statements, independent: true };
  }
}

function lossesOf({ store }: LedgerParts): number {
  return store.server?.losses() ?? 0;
}

function commitsOf(meter: Meter): (entries: number, milliseconds: number) => void {
  const size = meter.histogram('strongroom_log_group_entries', {});
  const taken = meter.histogram('strongroom_log_commit_seconds', {});
  return (entries, milliseconds) => {
    size(entries);
    taken(milliseconds / 1000);
  };
}

function linkOf({ seq, hash, mark }: Link): Link {
  return { seq, hash, mark };
}

function isFlushRequest({ request, audits }: Pending): boolean {
  return request === null && audits === null;
}

function asOne({ organization_id }: ChainedAudit) {
  return { organization_id, entries: 1, requests: null };
}

function unitOf({ change }: Pending): Unit {
  return { statements: change!.statements, touches: change!.touches };
}
