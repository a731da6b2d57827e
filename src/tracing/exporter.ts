/**
 * Sends spans to a collector (OTLP over HTTP, as JSON) in batches. The queue is bounded: while the collector can't be
 * reached, spans beyond the queue are dropped and counted. Requests never wait for it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TracingSettings } from './settings.ts';

/** A span as it is sent. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly Attribute[];
  readonly status: { readonly code?: number };
}

export interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string };
}

interface ExporterParts {
  readonly settings: TracingSettings;
  readonly version: string;
  readonly report: (line: string) => void;
  readonly sent: (spans: number) => void;
  readonly dropped: (spans: number) => void;
}

const attempts = 5;
const firstPause = 500;
/** How long `stop` waits for the last batch to be sent. */
const lastPatience = 2_000;
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export class SpanExporter {
  readonly #parts: ExporterParts;
  readonly #waiting: Span[] = [];
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #isSending = false;
  #isAway = false;

  constructor(parts: ExporterParts) {
    this.#parts = parts;
  }

  add(span: Span): void {
    const { mostWaiting, mostAtOnce, sendEvery } = this.#parts.settings;
    if (this.#waiting.length >= mostWaiting) {
      this.#parts.dropped(1);
      return;
    }
    this.#waiting.push(span);
    if (this.#isSending) return;
    if (this.#waiting.length >= mostAtOnce) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), sendEvery).unref();
  }

  /** Tries once to send the waiting spans, and drops those that can't be sent. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer ?? undefined);
    this.#stopping.abort();
    await this.#sending;
    const last = this.#waiting.splice(0);
    if (last.length > 0) this.#count(last, (await this.#post(last, lastPatience)) === 'sent');
  }

  #send(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#isSending = true;
    this.#sending = this.#sendAll().finally(() => {
      this.#isSending = false;
    });
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stopping.signal.aborted) {
      const batch = this.#waiting.splice(0, this.#parts.settings.mostAtOnce);
      this.#count(batch, await this.#deliver(batch));
    }
  }

  async #deliver(batch: readonly Span[]): Promise<boolean> {
    const { signal } = this.#stopping;
    for (let attempt = 1, pause = firstPause; ; attempt++, pause *= 2) {
      const outcome = await this.#post(batch, this.#parts.settings.patience);
      this.#tell(outcome);
      if (outcome === 'sent') return true;
      if (outcome === 'refused' || attempt === attempts || signal.aborted) return false;
      await sleep(pause * (0.5 + Math.random() / 2), undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #post(batch: readonly Span[], patience: number): Promise<'sent' | 'refused' | 'away'> {
    const { settings, version } = this.#parts;
    try {
      const response = await fetch(settings.url, {
        method: 'POST',
        headers: { ...settings.headers, 'content-type': 'application/json' },
        body: JSON.stringify(exportOf(batch, settings.resource, version)),
        redirect: 'error',
        signal: AbortSignal.timeout(patience),
      });
      await response.body?.cancel();
      if (response.ok) return 'sent';
      return passing.has(response.status) ? 'away' : 'refused';
    } catch {
      return 'away';
    }
  }

  /** Reports once when sending fails, and once when it works again. */
  #tell(outcome: 'sent' | 'refused' | 'away'): void {
    const isAway = outcome !== 'sent';
    if (isAway === this.#isAway) return;
    this.#isAway = isAway;
    this.#parts.report(
      isAway ? `traces can’t be sent: the collector ${reasons[outcome]}` : 'traces are sent again',
    );
  }

  #count(batch: readonly Span[], isSent: boolean): void {
    (isSent ? this.#parts.sent : this.#parts.dropped)(batch.length);
  }
}

const reasons = { refused: 'refuses them', away: 'can’t be reached' } as const;

function exportOf(spans: readonly Span[], resource: TracingSettings['resource'], version: string) {
  const attributes = Object.entries({ 'service.version': version, ...resource });
  return {
    resourceSpans: [
      {
        resource: { attributes: attributes.map(([key, text]) => textOf(key, text)) },
        scopeSpans: [{ scope: { name: 'strongroom', version }, spans }],
      },
    ],
  };
}

export function textOf(key: string, text: string): Attribute {
  return { key, value: { stringValue: text } };
}

export function numberOf(key: string, number: number): Attribute {
  return { key, value: { intValue: String(number) } };
}
