/**
 * The chain of one writer's entries. Each link hashes the link before it, its keyed mark and the entry's own
 * text, so that an edit changes every later hash. The hash can be checked by anyone, and is what checkpoints
 * sign; the mark needs the keyring, and keeps the newest entries, not yet signed, from being re-hashed.
 */
import { hash as digest } from 'node:crypto';
import type { Stream } from '../store/logs.ts';

export interface Link {
  readonly seq: number;
  /** Base64url, like the mark. */
  readonly hash: string;
  readonly mark: string;
}

const nothing = 'A'.repeat(43);

/** Before the first entry. */
export const chainStart: Link = { seq: 0, hash: nothing, mark: nothing };

/** Each part has a fixed form and none holds a line break, so the joined text reads in one way only. */
export function linkHash(stream: Stream, writer: string, before: Link, id: string, entry: string): string {
  const text = `${before.hash} ${before.mark}\n${stream} ${writer} ${before.seq + 1} ${id}\n${entry}`;
  return digest('sha256', text, 'base64url');
}

/** What a client is handed to prove later that its request was written down. */
export function receiptOf(id: string, hash: string): string {
  return `${id}.${hash.slice(0, 22)}`;
}
