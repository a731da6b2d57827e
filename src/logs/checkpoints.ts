/**
 * Signed checkpoints: once a second, if anything was written, the heads that moved are signed, together with
 * the hash of the checkpoint before. Whoever keeps one outside of the database can prove later that nothing
 * up to it was edited, removed or cut off. Every so often a checkpoint names all heads, and what is older
 * than the last such one is dropped.
 */
import { createPublicKey, hash as digest, type KeyObject, verify } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { UnitsRefused } from '../store/engine.ts';
import type { CheckpointRow, LogHeadRow, Stream } from '../store/logs.ts';
import type { Store } from '../store/store.ts';
import { type Head, headDigest, isMarked, type Marker } from './chain.ts';
import type { Ledger } from './ledger.ts';

export interface Checkpoint {
  readonly number: number;
  readonly created_at: string;
  readonly deployment: string;
  /** The hash of the checkpoint before; empty for the first. */
  readonly previous: string;
  /** Whether all writers are named, or only those whose head moved. */
  readonly full: boolean;
  readonly heads: readonly SignedHead[];
}

export interface SignedHead extends Head {
  readonly stream: Stream;
}

/** As it is kept: the very text that was signed. */
export interface SignedCheckpoint {
  readonly body: string;
  readonly signature: Uint8Array;
}

export interface CheckpointerParts {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'settle'>;
  readonly keyring: Marker & {
    readonly deployment: string;
    /** PEM. */
    readonly logPublicKey: string;
    signCheckpoint(bytes: Uint8Array): Buffer;
  };
  readonly now: () => number;
  /** Where the newest checkpoint is also written, outside of the database. */
  readonly file: string | null;
  readonly onError: (error: unknown) => void;
}

const interval = 1_000;
const fullEvery = 3_600;

export class Checkpointer {
  readonly #parts: CheckpointerParts;
  /** What was signed last of each chain, by us or before us; null until it was read. */
  #signed: Map<string, SignedHead> | null = null;
  /** Heads that were reported. */
  readonly #strange = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.sign()).catch(this.#parts.onError);
    }, interval);
    this.#timer.unref();
  }

  /** Signs what is left, then stops. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#running;
    await this.sign().catch(this.#parts.onError);
  }

  async sign(): Promise<void> {
    const { store, ledger, keyring, now, file, onError } = this.#parts;
    await ledger.settle().catch(onError); // What can't be filed now must not keep the rest from being signed.
    this.#signed ??= await this.#signedBefore();
    const moved = (await store.logs.heads()).filter(head => this.#isToSign(head)).map(signedHead);
    if (moved.length === 0) return;
    const all = new Map([...this.#signed, ...moved.map(head => [chainOf(head), head] as const)]);
    const last = await store.logs.lastCheckpoint();
    const number = (last?.number ?? 0) + 1;
    const full = isFull(number);
    const checkpoint: Checkpoint = {
      number,
      created_at: new Date(now()).toISOString(),
      deployment: keyring.deployment,
      previous: last === undefined ? '' : checkpointHash(last.body),
      full,
      heads: full ? [...all.values()] : moved,
    };
    const body = JSON.stringify(checkpoint);
    const signature = keyring.signCheckpoint(Buffer.from(body));
    const statements = [store.logs.addCheckpoint({ number, body, signature })];
    if (full) statements.push(store.logs.removeCheckpoints(number - fullEvery));
    try {
      await store.commit([{ statements }]);
    } catch (error) {
      // Another replica took the number first: its checkpoint stands, and ours follows a second later.
      if (error instanceof UnitsRefused) return;
      throw error;
    }
    this.#signed = all;
    if (file !== null) await writeAside(file, exportLine(body, signature));
  }

  /**
   * Who can write to the database alone can put a chain there, or move a head back over what he removed. Neither is
   * signed; and what was signed once stays in every full checkpoint.
   */
  #isToSign(head: LogHeadRow): boolean {
    const before = this.#signed!.get(chainOf(head));
    if (before?.seq === head.seq && before.hash === head.hash) return false;
    const isOurs = isMarked(this.#parts.keyring, headDigest(head), head.mark);
    if (isOurs && head.seq > (before?.seq ?? 0)) return true;
    const place = `${chainOf(head)}, number ${head.seq}`;
    if (!this.#strange.has(place))
      this.#parts.onError(new Error(`a head that is not ours is not signed: ${place}`));
    this.#strange.add(place);
    return false;
  }

  /** From the newest checkpoint, whose signature proves it, back to the last full one: each names the one before. */
  async #signedBefore(): Promise<Map<string, SignedHead>> {
    const rows = await this.#sinceFull();
    const key = createPublicKey(this.#parts.keyring.logPublicKey);
    const signed = new Map<string, SignedHead>();
    let isProven = rows.length > 0 && isSignedBy(key, rows.at(-1)!);
    for (let at = rows.length - 1; at >= 0 && isProven; at--) {
      const { heads, previous } = JSON.parse(rows[at]!.body) as Checkpoint;
      for (const head of heads) if (!signed.has(chainOf(head))) signed.set(chainOf(head), head);
      isProven = at > 0 && checkpointHash(rows[at - 1]!.body) === previous;
    }
    return signed;
  }

  async #sinceFull(): Promise<CheckpointRow[]> {
    const { logs } = this.#parts.store;
    const last = (await logs.lastCheckpoint())?.number ?? 0;
    return logs.checkpoints(last - 1 - ((last - 1) % fullEvery), fullEvery);
  }
}

function isFull(number: number): boolean {
  return number % fullEvery === 1;
}

function chainOf({ stream, writer }: Head): string {
  return `${stream} ${writer}`;
}

export function isSignedBy(key: KeyObject, { body, signature }: SignedCheckpoint): boolean {
  return verify(null, Buffer.from(body), key, signature);
}

export function checkpointHash(body: string): string {
  return digest('sha256', body);
}

/** A checkpoint as it is kept outside: the signed text as it is, and its signature. */
export function exportLine(body: string, signature: Uint8Array): string {
  return `${JSON.stringify({ checkpoint: body, signature: Buffer.from(signature).toString('base64') })}\n`;
}

function signedHead({ writer, stream, seq, hash }: LogHeadRow): SignedHead {
  return { writer, stream: stream as Stream, seq, hash };
}

async function writeAside(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
