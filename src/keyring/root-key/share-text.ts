/**
 * A share as people keep it: `sr_share_` + the slot's id + the share's number + the share + a checksum, in letters,
 * digits and underscores, so that a double click selects all of it. The checksum is over everything before it: a typing
 * error is found before the share is used, and the message names the share. It protects nothing else.
 */
import { crc32 } from 'node:zlib';

export interface Share {
  /** The id of the slot. */
  readonly slot: string;
  /** From 1 to the number of shares. */
  readonly index: number;
  /** A byte for each byte of the secret, and then the position of the share: the layout that other tools use too. */
  readonly bytes: Uint8Array;
}

/** Not a share, or not as it was printed. The message names the share as far as it can be read, and nothing of it. */
export class ShareError extends Error {}

const prefix = 'sr_share_';
export const shareSize = 33;
const shape = /^sr_share_([0-9a-f]{8})_([1-9][0-9]?)_([0-9a-f]*)$/;
const checksumLength = 8;
const bodyLength = 2 * shareSize + checksumLength;

export function printedShare({ slot, index, bytes }: Share): string {
  const unchecked = `${prefix}${slot}_${index}_${Buffer.from(bytes).toString('hex')}`;
  return unchecked + checksum(unchecked);
}

export function shareFrom(given: string): Share {
  const text = given.trim().toLowerCase();
  const [, slot, index, body] = shape.exec(text) ?? [];
  if (slot === undefined || index === undefined || body === undefined)
    throw new ShareError('this is not a share: it must be of the form sr_share_SLOT_NUMBER_…');
  const isSound =
    body.length === bodyLength && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
  if (!isSound) throw new ShareError(`share ${index} of the slot ${slot} is damaged or mistyped`);
  return {
    slot,
    index: Number(index),
    bytes: new Uint8Array(Buffer.from(body, 'hex').subarray(0, shareSize)),
  };
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(checksumLength, '0');
}
