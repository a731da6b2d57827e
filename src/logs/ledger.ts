/**
 * The ledger: the one way in which anything that a caller did is stored. A request entry, or a change with its
 * audit entry, goes in; the promise resolves when it is durable. Entries arriving while a group is being
 * synced form the next group, so one sync serves many.
 *
 * Each process writes two chains of its own, one a stream. A change that the store refuses leaves its entry
 * out: the rest of its group is chained anew and submitted again. After any other failure nobody can say
 * what was kept, so the ledger starts new chains under a new writer's name rather than guess.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { Failure } from '../contract/errors.ts';
import type { NewId } from '../contract/id.ts';
import { type Refusal, type Statement, type Unit, UnitsRefused } from '../store/engine.ts';
import type { AuditLogRow, RequestLogRow, Stream } from '../store/logs.ts';
import type { Store } from '../store/store.ts';
import { chainStart, type Link, linkHash, receiptOf } from './chain.ts';
import { type AuditEntry, type Entry, entryText, type RequestEntry } from './entries.ts';
import { HourCounts } from './hours.ts';

/** What must be stored together with an audit entry. */
export interface Change {
  readonly statements: readonly Statement[];
  /** Whose kept copies are stale from then on. */
  readonly touches: readonly string[];
}

/** The store refused a change: nothing of it, its entry included, was kept. */
export class ChangeRefused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(`the change was refused: ${refusal}`);
    this.name = 'ChangeRefused';
    this.refusal = refusal;
  }
}

interface Pending {
  readonly stream: Stream;
  readonly entries: readonly Entry[];
  readonly change: Change | null;
  readonly resolve: (receipt: string) => void;
  readonly reject: (error: Error) => void;
}

interface Chained {
  readonly stream: Stream;
  readonly entry: Entry;
  readonly id: string;
  readonly text: string;
  readonly link: Link;
}

type Heads = Readonly<Record<Stream, Link>>;

const noHeads: Heads = { request: chainStart, audit: chainStart };
const largestGroup = 400;
const longestQueue = 20_000;
const longestGathering = 4;

export interface LedgerParts {
  readonly store: Store;
  readonly keyring: { chainMark(hash: string): string };
  readonly now: () => number;
  readonly newId: NewId;
}

export class Ledger {
  readonly #parts: LedgerParts;
  /** Durable requests by the hour. */
  readonly hourCounts: HourCounts;
  #writer: string;
  #heads: Heads = noHeads;
  #queue: Pending[] = [];
  #flushing: Promise<void> | null = null;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
    this.#writer = parts.newId();
    this.hourCounts = new HourCounts(parts.store, parts.now);
  }

  /** Resolves with the entry's receipt once it is durable. */
  record(entry: RequestEntry): Promise<string> {
    return this.#enqueue('request', [entry], null);
  }

  /** Stores a change and the entries that tell of it, all or nothing. Resolves with the first one's receipt. */
  commit(entries: readonly AuditEntry[], change: Change | null = null): Promise<string> {
    return this.#enqueue('audit', entries, change);
  }

  /** Everything that was handed in is settled when this resolves. */
  async drain(): Promise<void> {
    while (this.#flushing !== null) await this.#flushing;
  }

  #enqueue(stream: Stream, entries: readonly Entry[], change: Change | null): Promise<string> {
    if (this.#queue.length >= longestQueue) {
      return Promise.reject(new Failure('UNAVAILABLE', { retryAfter: 1 }));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ stream, entries, change, resolve, reject });
      this.#flushing ??= this.#flush();
    });
  }

  async #flush(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#gather();
      const group = this.#queue.splice(0, largestGroup);
      // Whatever goes wrong in here, nobody is left waiting.
      await this.#commitGroup(group).catch(error => this.#startAnew(error, group));
    }
    this.#flushing = null;
  }

  /** As long as each turn of the event loop brings more, the group grows: a sync costs the same for all of them. */
  async #gather(): Promise<void> {
    for (let turns = 0, before = 0; turns < longestGathering && this.#queue.length > before; turns++) {
      before = this.#queue.length;
      await turn();
    }
  }

  async #commitGroup(group: readonly Pending[]): Promise<void> {
    if (group.length === 0) return;
    const { receipts, chained, heads } = this.#chain(group);
    const changes = group.filter(pending => pending.change !== null);
    try {
      await this.#parts.store.commit([...changes.map(unitOf), this.#logUnit(chained, heads)]);
    } catch (error) {
      return this.#afterFailure(error, group, changes);
    }
    this.#heads = heads;
    for (const { stream, entry } of chained)
      if (stream === 'request') this.hourCounts.note(entry as RequestEntry);
    for (const [index, { resolve }] of group.entries()) resolve(receipts[index]!);
  }

  async #afterFailure(error: unknown, group: readonly Pending[], changes: readonly Pending[]): Promise<void> {
    const refused = error instanceof UnitsRefused ? refusedChanges(error, changes) : new Map();
    if (refused.size === 0) {
      this.#startAnew(error, group);
      return;
    }
    const rest = group.filter(pending => !refused.has(pending.reject));
    for (const [reject, refusal] of refused) reject(new ChangeRefused(refusal));
    await this.#commitGroup(rest);
  }

  #startAnew(error: unknown, group: readonly Pending[]): void {
    this.#writer = this.#parts.newId();
    this.#heads = noHeads;
    for (const { reject } of group) reject(unavailable(error));
  }

  #chain(group: readonly Pending[]): { receipts: string[]; chained: Chained[]; heads: Heads } {
    const heads = { ...this.#heads };
    const createdAt = new Date(this.#parts.now()).toISOString();
    const chained: Chained[] = [];
    const receipts = group.map(({ stream, entries }) => {
      const first = chained.length;
      for (const entry of entries) {
        const link = this.#link(stream, heads[stream], entry, createdAt);
        chained.push(link);
        heads[stream] = link.link;
      }
      return receiptOf(chained[first]!.id, chained[first]!.link.hash);
    });
    return { receipts, chained, heads };
  }

  #link(stream: Stream, before: Link, entry: Entry, createdAt: string): Chained {
    const id = this.#parts.newId();
    const text = entryText(id, createdAt, entry);
    const hash = linkHash(stream, this.#writer, before, id, text);
    const link = { seq: before.seq + 1, hash, mark: this.#parts.keyring.chainMark(hash) };
    return { stream, entry, id, text, link };
  }

  #logUnit(entries: readonly Chained[], heads: Heads): Unit {
    const { logs } = this.#parts.store;
    const statements: Statement[] = [];
    const requests = entries.filter(entry => entry.stream === 'request');
    const audits = entries.filter(entry => entry.stream === 'audit');
    if (requests.length > 0)
      statements.push(logs.appendRequests(requests.map(entry => this.#requestRow(entry))));
    if (audits.length > 0) statements.push(logs.appendAudits(audits.map(entry => this.#auditRow(entry))));
    for (const [stream, part] of [['request', requests] as const, ['audit', audits] as const]) {
      if (part.length === 0) continue;
      const { seq, hash } = heads[stream];
      statements.push(logs.setHead({ writer: this.#writer, stream, seq, hash }));
      for (const [organizationId, count] of countByOrganization(part)) {
        statements.push(logs.count(organizationId, stream, count));
      }
    }
    return { statements };
  }

  #requestRow({ id, text, link, entry }: Chained): RequestLogRow {
    const { organization_id, vault_id, access_key_id, status, ip_address } = entry as RequestEntry;
    return { ...this.#columns(id, text, link, organization_id), vault_id, access_key_id, status, ip_address };
  }

  #auditRow({ id, text, link, entry }: Chained): AuditLogRow {
    const { organization_id, action, subject, revision } = entry as AuditEntry;
    return {
      ...this.#columns(id, text, link, organization_id),
      action,
      subject_id: subject?.id ?? null,
      subject_revision: revision,
    };
  }

  #columns(id: string, entry: string, { seq, hash, mark }: Link, organization_id: string | null) {
    return { id, organization_id, writer: this.#writer, seq, entry, hash, mark };
  }
}

function unitOf({ change }: Pending): Unit {
  return { statements: change!.statements, touches: change!.touches };
}

/** Keyed by the reject function, which no two have in common. */
function refusedChanges(error: UnitsRefused, changes: readonly Pending[]): Map<Pending['reject'], Refusal> {
  const refused = new Map<Pending['reject'], Refusal>();
  for (const [index, refusal] of error.refusals) {
    const change = changes[index];
    if (change !== undefined) refused.set(change.reject, refusal);
  }
  return refused;
}

/** In the order of ids, so that two replicas never wait for each other. */
function countByOrganization(entries: readonly Chained[]): [id: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { entry } of entries) {
    const id = entry.organization_id;
    if (id !== null) counts.set(id, (counts.get(id) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
}

function unavailable(cause: unknown): Failure {
  return cause instanceof Failure ? cause : new Failure('UNAVAILABLE', { cause, retryAfter: 1 });
}
