/**
 * Signed checkpoints: once a second, if anything was written, the heads that moved are signed, together with
 * the hash of the checkpoint before. Whoever keeps one outside of the database can prove later that nothing
 * up to it was edited, removed or cut off. Every so often a checkpoint names all heads, and what is older
 * than the last such one is dropped.
 */
import { hash as digest } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import type { Keyring } from '../keyring/keyring.ts';
import { UnitsRefused } from '../store/engine.ts';
import type { LogHeadRow, Stream } from '../store/logs.ts';
import type { Store } from '../store/store.ts';
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

export interface SignedHead {
  readonly writer: string;
  readonly stream: Stream;
  readonly seq: number;
  readonly hash: string;
}

export interface CheckpointerParts {
  readonly store: Store;
  readonly ledger: Pick<Ledger, 'settle'>;
  readonly keyring: Pick<Keyring, 'deployment' | 'hasChainMark' | 'signCheckpoint'>;
  readonly now: () => number;
  /** Where the newest checkpoint is also written, outside of the database. */
  readonly file: string | null;
  readonly onError: (error: unknown) => void;
}

const interval = 1_000;
const fullEvery = 3_600;

export class Checkpointer {
  readonly #parts: CheckpointerParts;
  readonly #signed = new Map<string, number>();
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
    const { store, ledger, keyring, now, file } = this.#parts;
    await ledger.settle();
    const heads = await store.logs.heads();
    const moved = heads.filter(
      head => this.#signed.get(`${head.writer} ${head.stream}`) !== head.seq && this.#isOurs(head),
    );
    if (moved.length === 0) return;
    const last = await store.logs.lastCheckpoint();
    const number = (last?.number ?? 0) + 1;
    const full = number % fullEvery === 1;
    const checkpoint: Checkpoint = {
      number,
      created_at: new Date(now()).toISOString(),
      deployment: keyring.deployment,
      previous: last === undefined ? '' : checkpointHash(last.body),
      full,
      heads: (full ? heads.filter(head => this.#isOurs(head)) : moved).map(signedHead),
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
    for (const { writer, stream, seq } of moved) this.#signed.set(`${writer} ${stream}`, seq);
    if (file !== null) await writeAside(file, exportLine(body, signature));
  }

  /** Who can write to the database alone can put a chain there, but must not have it signed by us. */
  #isOurs({ writer, stream, seq, hash, mark }: LogHeadRow): boolean {
    if (this.#parts.keyring.hasChainMark(hash, mark)) return true;
    const head = `${stream} ${writer}, number ${seq}`;
    if (!this.#strange.has(head)) {
      this.#strange.add(head);
      this.#parts.onError(new Error(`a head that was not written with the keyring is not signed: ${head}`));
    }
    return false;
  }
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
