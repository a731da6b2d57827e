/**
 * Refusals over a limit. A client that keeps retrying must not make the log grow without end, yet every refusal is
 * recorded: each waits for a moment, and identical ones share one entry with their count. They are answered when that
 * entry is durable.
 */
import { rateWindowAt } from '../contract/rate-window.ts';
import type { AuditEntry, RequestEntry } from './entries.ts';

interface RefusalsParts {
  readonly record: (entry: RequestEntry) => Promise<string>;
  readonly commit: (entries: readonly AuditEntry[]) => Promise<string>;
  readonly now: () => number;
}

/** How many equal denials per window are recorded individually, without waiting. */
const mostDenials = 20;
const mostCounted = 10_000;
const patience = 250;
const mostKinds = 1_000;

export class Refusals {
  readonly #parts: RefusalsParts;
  readonly #requests: Gathering<RequestEntry>;
  readonly #denials: Gathering<AuditEntry>;
  readonly #denied = new Map<string, number>();
  #windowStart = 0;

  constructor(parts: RefusalsParts) {
    this.#parts = parts;
    this.#requests = new Gathering((entry, count) => parts.record({ ...entry, count }));
    this.#denials = new Gathering((entry, count) =>
      parts.commit([count === 1 ? entry : { ...entry, count }]),
    );
  }

  /** A request over a limit. Values that its sender can choose freely are kept only from the first one. */
  request(entry: RequestEntry): Promise<string> {
    const { user_agent, request_id, duration_ms, ...alike } = entry;
    return this.#requests.add(JSON.stringify(alike), entry);
  }

  /** A denied action. The first few are recorded immediately. */
  denial(entry: AuditEntry): Promise<string> {
    const { user_agent, request_id, ...alike } = entry;
    const key = JSON.stringify(alike);
    return this.#isPastLimit(key) ? this.#denials.add(key, entry) : this.#parts.commit([entry]);
  }

  /** Submits everything that waits. */
  flush(): void {
    this.#requests.flush();
    this.#denials.flush();
  }

  #isPastLimit(key: string): boolean {
    const { start } = rateWindowAt(this.#parts.now());
    if (start !== this.#windowStart || this.#denied.size >= mostCounted) this.#denied.clear();
    this.#windowStart = start;
    const before = this.#denied.get(key) ?? 0;
    this.#denied.set(key, before + 1);
    return before >= mostDenials;
  }
}

interface Gathered<Entry> {
  readonly entry: Entry;
  readonly receipt: PromiseWithResolvers<string>;
  count: number;
}

class Gathering<Entry> {
  readonly #write: (entry: Entry, count: number) => Promise<string>;
  #waiting = new Map<string, Gathered<Entry>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (entry: Entry, count: number) => Promise<string>) {
    this.#write = write;
  }

  /** Resolves with the receipt of the shared entry. Entries with the same key count as equal. */
  add(key: string, entry: Entry): Promise<string> {
    const known = this.#waiting.get(key);
    if (known !== undefined) {
      known.count++;
      return known.receipt.promise;
    }
    if (this.#waiting.size >= mostKinds) this.flush();
    const gathered = { entry, count: 1, receipt: Promise.withResolvers<string>() };
    this.#waiting.set(key, gathered);
    this.#timer ??= setTimeout(() => this.flush(), patience);
    return gathered.receipt.promise;
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const all = this.#waiting;
    this.#waiting = new Map();
    for (const { entry, count, receipt } of all.values()) {
      this.#write(entry, count).then(receipt.resolve, receipt.reject);
    }
  }
}
