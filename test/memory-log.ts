/** A log that is only in memory: chains of some writers and the checkpoints that sign them, whole until a test changes them. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { firstIdAt } from '../src/contract/id.ts';
import { chainStart, type Link, linkHash } from '../src/logs/chain.ts';
import {
  type Checkpoint,
  checkpointBody,
  checkpointHash,
  type SignedCheckpoint,
  type SignedHead,
} from '../src/logs/checkpoints.ts';
import type { LoggedLink } from '../src/logs/logged-link.ts';
import { type LogSource, type VerifyOptions, verifyLogs } from '../src/logs/verify.ts';
import type { Stream } from '../src/store/records/logs.ts';

export const noon = Date.parse('2026-11-16T12:00:00Z');
const { privateKey, publicKey: key } = generateKeyPairSync('ed25519');
export const publicKey = key.export({ type: 'spki', format: 'pem' });
export const markOf = (of: string) => hash('sha256', `keyring ${of}`, 'base64url');
export const hasMark = (of: string, mark: string) => markOf(of) === mark;

export interface MemoryLink extends LoggedLink {
  readonly stream: Stream;
}

export class MemoryLog implements LogSource {
  stored: MemoryLink[] = [];
  signed: SignedCheckpoint[] = [];
  readonly #ends = new Map<string, MemoryLink>();

  /** An audit entry; times are in milliseconds from noon. */
  audit(at: number, said: Readonly<Record<string, unknown>> = {}, writer = 'one'): MemoryLink {
    return this.#add('audit', writer, at, { created_at: timeAt(at), action: 'secret.updated', ...said });
  }

  /** A block of so many request entries. */
  block(at: number, entries = 2, said: Readonly<Record<string, unknown>> = {}, writer = 'one'): MemoryLink {
    const listed = Array.from({ length: entries }, () => [0, 1]);
    return this.#add('request', writer, at, {
      created_at: timeAt(at),
      alike: [{}],
      entries: listed,
      ...said,
    });
  }

  sign(at: number, said: Partial<Checkpoint> = {}): SignedCheckpoint {
    const last = this.signed.at(-1);
    const checkpoint = {
      number: this.signed.length + 1,
      created_at: timeAt(at),
      deployment: 'd',
      previous: last === undefined ? '' : checkpointHash(last.body),
      full: false,
      heads: this.heads(),
      ...said,
    };
    const signed = signedOf(checkpoint);
    this.signed.push(signed);
    return signed;
  }

  heads(): SignedHead[] {
    return [...this.#ends.values()].map(({ writer, stream, seq, hash }) => ({ writer, stream, seq, hash }));
  }

  drop(...links: readonly MemoryLink[]): void {
    this.stored = this.stored.filter(link => !links.includes(link));
  }

  /** As an edit in the database leaves it. */
  change(link: MemoryLink, changed: Partial<MemoryLink>): void {
    this.stored = this.stored.map(one => (one === link ? { ...one, ...changed } : one));
  }

  async *links(stream: Stream): AsyncIterable<LoggedLink> {
    for (const { stream: own, ...link } of this.stored) if (own === stream) yield link;
  }

  async *checkpoints(): AsyncIterable<SignedCheckpoint> {
    yield* this.signed;
  }

  #add(stream: Stream, writer: string, at: number, said: unknown): MemoryLink {
    const chain = `${stream} ${writer}`;
    const before: Link = this.#ends.get(chain) ?? chainStart;
    const seq = before.seq + 1;
    const id = `${firstIdAt(noon + at).slice(0, -6) + `${seq}`.padStart(3, '0')}000`;
    const text = JSON.stringify(said);
    const hash = linkHash(stream, writer, before, id, text);
    const link = { stream, writer, seq, id, text, hash, mark: markOf(hash) };
    this.#ends.set(chain, link);
    this.stored.push(link);
    return link;
  }
}

export const timeAt = (at: number): string => new Date(noon + at).toISOString();

export function signedOf(checkpoint: Checkpoint): SignedCheckpoint {
  const body = checkpointBody(checkpoint);
  return { body, signature: sign(null, Buffer.from(body), privateKey) };
}

/** Two seconds past noon. */
export const reportOf = (log: MemoryLog, options: Partial<VerifyOptions> = {}) =>
  verifyLogs(log, { publicKey, now: () => noon + 2_000, ...options });

/** Each finding in a few words: what, and the numbers in the rest. */
export async function found(log: MemoryLog, options?: Partial<VerifyOptions>): Promise<string[]> {
  const { ok, findings } = await reportOf(log, options);
  assert.equal(ok, findings.length === 0);
  return findings.map(({ what, where }) => `${what}: ${where.replace(/ [0-9a-f-]{36} /, ' ')}`);
}

export const entry = (seq: number) => `audit entry (writer one, number ${seq})`;
export const block = (seq: number) => `request block (writer one, number ${seq})`;

/** Three entries and two blocks that a checkpoint covers, and an entry behind it. */
export function world() {
  const log = new MemoryLog();
  const audits = [log.audit(0), log.audit(100), log.audit(200)] as const;
  const blocks = [log.block(0), log.block(100, 1)] as const;
  const first = log.sign(1_000);
  const last = log.audit(1_500);
  return { log, audits, blocks, first, last };
}
