/**
 * The chain of one writer. Its links are audit entries, or blocks of request entries. Each link hashes the previous
 * link, its keyed mark and its own text, so that an edit changes every later hash. Anyone can check the hash, and it
 * is what checkpoints sign. The mark needs the keyring: without it, nobody can get a link signed that they inserted
 * or rehashed.
 */
import { hash as digest } from 'node:crypto';
import type { Stream } from '../store/records/logs.ts';

export interface Link {
  readonly seq: number;
  /** Base64url, like the mark. */
  readonly hash: string;
  readonly mark: string;
}

const nothing = 'A'.repeat(43);

/** Before the first link. */
export const chainStart: Link = { seq: 0, hash: nothing, mark: nothing };

/** Where a chain ends: its newest link, and whose it is. */
export interface Head {
  readonly writer: string;
  readonly stream: string;
  readonly seq: number;
  readonly hash: string;
}

/** Provided by the keyring. */
export interface Marker {
  chainMark(hash: string): string;
}

export function isMarked(marker: Marker, hash: string, mark: string): boolean {
  return hash.length === nothing.length && marker.chainMark(hash) === mark;
}

/** What a head's own mark is over: all of it, in the length of a link's hash. */
export function headDigest({ stream, writer, seq, hash }: Head): string {
  return digest('sha256', `${stream} ${writer} ${seq} ${hash}`, 'base64url');
}

/** All parts but the last have a fixed form without a line break, so the joined text is unambiguous. */
export function linkHash(stream: Stream, writer: string, before: Link, id: string, text: string): string {
  const whole = `${before.hash} ${before.mark}\n${stream} ${writer} ${before.seq + 1} ${id}\n${text}`;
  return digest('sha256', whole, 'base64url');
}

/** What a client receives to prove later that its request was recorded. */
export function receiptOf(id: string, hash: string): string {
  return `${id}.${hash.slice(0, 22)}`;
}

export function entryIdOf(receipt: string): string {
  return receipt.slice(0, receipt.indexOf('.'));
}
