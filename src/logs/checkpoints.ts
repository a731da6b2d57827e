/**
 * Signed checkpoints: once per second, if anything was written, the changed heads are signed, together with the hash of
 * the previous checkpoint. A checkpoint kept outside the database proves that nothing up to it was edited, removed or
 * cut off. While nothing is written, one is still signed twice per minute, so that an entry more than a minute newer
 * than the newest checkpoint can't be ours. From time to time a checkpoint names all heads, and checkpoints before the
 * previous such one are deleted.
 */
import { createPublicKey, hash as digest, type KeyObject, verify } from 'node:crypto';
import type { PublicBytes } from '../base/bytes.ts';
import { Chores } from '../base/chores.ts';
import { isStored } from '../store/engine/engine.ts';
import type { CheckpointRow, LogHeadRow, Stream } from '../store/records/logs.ts';
import type { Store } from '../store/store.ts';
import { type Head, headDigest, isMarked, type Marker } from './chain.ts';
import type { Ledger } from './ledger.ts';

export interface Checkpoint {
  readonly number: number;
  readonly created_at: string;
  /** The time by which ages are determined; absent in checkpoints of earlier versions. */
  readonly aged_at?: string;
  readonly deployment: string;
  /** The hash of the previous checkpoint; empty for the first. */
  readonly previous: string;
  /** Whether it names all writers, or only those whose head changed. */
  readonly full: boolean;
  readonly heads: readonly SignedHead[];
}

export interface SignedHead extends Head {
  readonly stream: Stream;
}

/** As stored: exactly the text that was signed. */
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
    signCheckpoint(bytes: Uint8Array): PublicBytes;
  };
  readonly now: () => number;
  readonly aged: () => number;
  /** Saves the newest checkpoint outside the database. */
  readonly keep: (signed: SignedCheckpoint) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const interval = 1_000;
/** The maximum age of the newest checkpoint while the service runs, by its own clock. */
const longestSilence = 30_000;
const fullEvery = 3_600;

export class Checkpointer {
  readonly #parts: CheckpointerParts;
  /** The last signed head of each chain, by any process; null until it has been read. */
  #signed: Map<string, SignedHead> | null = null;
  /** The newest checkpoint that we know of. It must not disappear from the database. */
  #last: CheckpointRow | undefined;
  #lastAt = 0;
  /** Heads that were already reported. */
  readonly #strange = new Set<string>();
  readonly #chores: Chores;
  #running: Promise<void> = Promise.resolve();

  constructor(parts: CheckpointerParts) {
    this.#parts = parts;
    this.#chores = new Chores(parts.onError);
  }

  start(): void {
    this.#chores.every(interval, () => this.sign());
  }

  /** Signs what is left, then stops. */
  async stop(): Promise<void> {
    await this.#chores.stop();
    await this.sign().catch(this.#parts.onError);
  }

  /** Signs what is left, and saves the newest checkpoint: a command may have signed it without saving it. */
  async begin(): Promise<void> {
    await this.sign();
    const { store, keyring, keep } = this.#parts;
    const newest = await store.logs.lastCheckpoint();
    const key = createPublicKey(keyring.logPublicKey);
    if (newest !== undefined && isSignedBy(key, newest)) await keep(newest);
  }

  /** Everything that is durable now is signed when this resolves. */
  sign(): Promise<void> {
    const signing = this.#running.then(() => this.#sign());
    this.#running = signing.catch(() => {});
    return signing;
  }

  async #sign(): Promise<void> {
    const { store, ledger, onError } = this.#parts;
    await ledger.settle().catch(onError); // A failure to file must not prevent the rest from being signed.
    this.#signed ??= await signedHeads(store, this.#parts.keyring.logPublicKey);
    const moved = (await store.logs.heads()).filter(head => this.#isToSign(head)).map(signedHead);
    if (moved.length === 0 && !(await this.#isSilent())) return;
    const all = new Map([...this.#signed, ...moved.map(head => [chainOf(head), head] as const)]);
    const row = this.#row(await this.#newest(), moved, all);
    const statements = [store.logs.addCheckpoint(row)];
    if (isFull(row.number)) statements.push(store.logs.removeCheckpoints(row.number - fullEvery));
    // If another replica took the number first, its checkpoint counts, and ours follows a second later.
    if (!(await isStored(store.commit([{ statements }])))) return;
    this.#signed = all;
    this.#note(row);
    await this.#parts.keep(row);
  }

  /** Whether no replica has signed for a while. */
  async #isSilent(): Promise<boolean> {
    const { now } = this.#parts;
    if (now() - this.#lastAt < longestSilence) return false;
    this.#note(await this.#newest());
    return now() - this.#lastAt >= longestSilence;
  }

  #note(row: CheckpointRow | undefined): void {
    this.#last = row;
    this.#lastAt = row === undefined ? 0 : signedAt(row);
  }

  /** If the newest checkpoint was removed, continuing after it leaves a visible gap. */
  async #newest(): Promise<CheckpointRow | undefined> {
    const stored = await this.#parts.store.logs.lastCheckpoint();
    if (this.#last === undefined || (stored?.number ?? 0) >= this.#last.number) return stored;
    this.#parts.onError(new Error(`checkpoint ${this.#last.number} was removed from the database`));
    return this.#last;
  }

  #row(
    last: CheckpointRow | undefined,
    moved: SignedHead[],
    all: ReadonlyMap<string, SignedHead>,
  ): CheckpointRow {
    const { keyring, now, aged } = this.#parts;
    const number = (last?.number ?? 0) + 1;
    const full = isFull(number);
    const body = checkpointBody({
      number,
      created_at: new Date(now()).toISOString(),
      aged_at: new Date(aged()).toISOString(),
      deployment: keyring.deployment,
      previous: last === undefined ? '' : checkpointHash(last.body),
      full,
      heads: full ? [...all.values()] : moved,
    });
    return { number, body, signature: keyring.signCheckpoint(Buffer.from(body)) };
  }

  /**
   * An attacker who can only write to the database could insert a chain, or move a head back to hide removed links.
   * Neither is signed, and a head that was signed stays in every full checkpoint.
   */
  #isToSign(head: LogHeadRow): boolean {
    const before = this.#signed!.get(chainOf(head));
    if (before?.seq === head.seq && before.hash === head.hash) return false;
    const isOurs = isMarked(this.#parts.keyring, headDigest(head), head.mark);
    if (isOurs && head.seq > (before?.seq ?? 0)) return true;
    const place = `${chainOf(head)}, number ${head.seq}`;
    if (!this.#strange.has(place))
      this.#parts.onError(new Error(`a chain head that this service did not write is not signed: ${place}`));
    this.#strange.add(place);
    return false;
  }
}

/**
 * Reads from the newest checkpoint, which its signature proves, back to the last full one; each contains the hash of
 * the one before.
 */
export async function signedHeads(
  { logs }: Pick<Store, 'logs'>,
  publicKey: string,
): Promise<Map<string, SignedHead>> {
  const last = (await logs.lastCheckpoint())?.number ?? 0;
  const rows = await logs.checkpoints(last - 1 - ((last - 1) % fullEvery), fullEvery);
  const key = createPublicKey(publicKey);
  const signed = new Map<string, SignedHead>();
  let isProven = rows.length > 0 && isSignedBy(key, rows.at(-1)!);
  for (let at = rows.length - 1; isProven; at--) {
    const { heads, previous } = JSON.parse(rows[at]!.body) as Checkpoint;
    for (const head of heads) if (!signed.has(chainOf(head))) signed.set(chainOf(head), head);
    isProven = at > 0 && checkpointHash(rows[at - 1]!.body) === previous;
  }
  return signed;
}

function isFull(number: number): boolean {
  return number % fullEvery === 1;
}

function chainOf({ stream, writer }: Head): string {
  return `${stream} ${writer}`;
}

/** In milliseconds. */
export function signedAt({ body }: Pick<SignedCheckpoint, 'body'>): number {
  return Date.parse((JSON.parse(body) as Checkpoint).created_at);
}

export function isSignedBy(key: KeyObject, { body, signature }: SignedCheckpoint): boolean {
  return verify(null, Buffer.from(body), key, signature);
}

/** The text that is signed. */
export function checkpointBody(checkpoint: Checkpoint): string {
  return JSON.stringify(checkpoint);
}

export function checkpointHash(body: string): string {
  return digest('sha256', body);
}

/** A checkpoint as saved outside the database: the exact signed text, and its signature. */
export function exportLine({ body, signature }: SignedCheckpoint): string {
  return `${JSON.stringify({ checkpoint: body, signature: Buffer.from(signature).toString('base64') })}\n`;
}

/** Throws if the line is not a checkpoint. */
export function parseCheckpoint(line: string): SignedCheckpoint {
  const { checkpoint, signature } = JSON.parse(line) as { checkpoint: unknown; signature: unknown };
  if (typeof checkpoint !== 'string' || typeof signature !== 'string' || !isBody(checkpoint))
    throw new Error('this is not a checkpoint');
  return { body: checkpoint, signature: Buffer.from(signature, 'base64') };
}

function isBody(text: string): boolean {
  const { number, heads, created_at } = JSON.parse(text) as Partial<Checkpoint>;
  return Number.isSafeInteger(number) && Array.isArray(heads) && typeof created_at === 'string';
}

export function signedHead({ writer, stream, seq, hash }: LogHeadRow): SignedHead {
  return { writer, stream: stream as Stream, seq, hash };
}
