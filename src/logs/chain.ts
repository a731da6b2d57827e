/**
 * The chain of one writer's entries. Each link hashes the link before it, its keyed mark and the entry's own
 * text, so that an edit changes every later hash. The hash can be checked by anyone, and is what checkpoints
 * sign; the mark needs the keyring, and keeps the newest entries, not yet signed, from being re-hashed.
 */
import { hash as digest } from 'node:crypto';
import type { Stream } from '../store/logs.ts';

export interface Link {
  readonly seq: number;
  readonly hash: Buffer;
  readonly mark: Buffer;
}

/** Before the first entry. */
export const chainStart: Link = { seq: 0, hash: Buffer.alloc(32), mark: Buffer.alloc(32) };

/** Each part has a fixed form and none holds a line break, so the joined text reads in one way only. */
export function linkHash(stream: Stream, writer: string, before: Link, id: string, entry: string): Buffer {
  const seq = before.seq + 1;
  const text = `${before.hash.toString('hex')} ${before.mark.toString('hex')}\n${stream} ${writer} ${seq} ${id}\n${entry}`;
  return digest('sha256', text, 'buffer');
}

/** What a client is handed to prove later that its request was written down. */
export function receiptOf(id: string, hash: Uint8Array): string {
  return `${id}.${Buffer.from(hash.buffer, hash.byteOffset, 16).toString('hex')}`;
}
