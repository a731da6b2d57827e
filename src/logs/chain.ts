/**
 * The chain of one writer. Its links are audit entries, or blocks of request entries. Each link hashes the previous
 * link, its keyed mark and its own text, so that an edit changes every later hash. The hash can be checked without a
 * key, and is what checkpoints sign. The mark requires the keyring: without it, a link that was inserted or rehashed
 * never gets signed.
 */
import { hash as digest } from 'node:crypto';
import type { Stream } from '../store/records/logs.ts';

export interface Link {
  readonly seq: number;
  /** Base64url, like `mark`. */
  readonly hash: string;
  readonly mark: string;
}

const nothing = 'A'.repeat(43);

/** The state before the first link. */
export const chainStart: Link = { seq: 0, hash: nothing, mark: nothing };

/** The end of a chain: its newest link, and its writer. */
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

/** The digest that a head's mark covers: all of its fields, in the length of a link's hash. */
export function headDigest({ stream, writer, seq, hash }: Head): string {
  return digest('sha256', `${stream} ${writer} ${seq} ${hash}`, 'base64url');
}

/** All parts but the last have a fixed form without line breaks, so the joined text is unambiguous. */
export function linkHash(stream: Stream, writer: string, before: Link, id: string, text: string): string {
  const whole = `${before.hash} ${before.mark}\n${stream} ${writer} ${before.seq + 1} ${id}\n${text}`;
  return digest('sha256', whole, 'base64url');
}

/** A client can use its receipt to prove later that its request was recorded. */
export function receiptOf(id: string, hash: string): string {
  return `${id}.${hash.slice(0, 22)}`;
}

export function entryIdOf(receipt: string): string {
  return receipt.slice(0, receipt.indexOf('.'));
}
