/**
 * Files in the age format (age-encryption.org/v1), written and read as streams, with constant memory. Each chunk is
 * authenticated together with its position and whether it is the last, so changed bits, a missing end and anything
 * after the end are detected. No byte is returned before its chunk is authenticated.
 */
import { hkdfSync, randomBytes } from 'node:crypto';
import { decrypted, encrypted, tagSize } from './cipher.ts';
import { AgeError, damaged, readHeader, writeHeader } from './header.ts';
import { type AgeIdentity, fileKeySize, type Recipient } from './keys.ts';

const nonceSize = 16;
export const chunkSize = 64 * 1024;
/** The total length of its lines, in bytes: enough for hundreds of recipients. */
const longestHeader = 64 * 1024;

export async function sealed(recipients: readonly Recipient[], plain: AsyncIterable<Uint8Array>) {
  const fileKey = randomBytes(fileKeySize);
  const stanzas = await Promise.all(recipients.map(wrap => wrap(fileKey)));
  const nonce = randomBytes(nonceSize);
  const head = Buffer.concat([writeHeader(stanzas, fileKey), nonce]);
  async function* bytes(): AsyncIterable<Buffer> {
    yield head;
    yield* sealedChunks(payloadKey(fileKey, nonce), plain);
  }
  /** Opens the file that was just written, without anyone's private key. */
  const identity: AgeIdentity = async () => fileKey;
  return { bytes: bytes(), identity };
}

async function* sealedChunks(key: Buffer, plain: AsyncIterable<Uint8Array>): AsyncIterable<Buffer> {
  const chunk = Buffer.alloc(chunkSize);
  let [filled, number] = [0, 0];
  for await (const piece of plain) {
    for (let at = 0; at < piece.length; ) {
      // A full chunk is held back until more data arrives, because only then is it known not to be the last.
      if (filled === chunkSize) {
        yield encrypted(key, nonceOf(number++, false), chunk);
        filled = 0;
      }
      const part = piece.subarray(at, at + chunkSize - filled);
      chunk.set(part, filled);
      filled += part.length;
      at += part.length;
    }
  }
  yield encrypted(key, nonceOf(number, true), chunk.subarray(0, filled));
}

/** Throws `AgeError` at the first byte that is not as written. */
export async function* opened(source: AsyncIterable<Uint8Array>, identity: AgeIdentity) {
  const bytes = new ByteReader(source);
  try {
    let left = longestHeader;
    const header = await readHeader(async () => {
      const line = await bytes.line(left);
      left -= line.length + 1;
      if (left < 0) throw damaged('its header is damaged');
      return line;
    });
    const fileKey = await identity(header.stanzas);
    if (fileKey === null) throw new AgeError('locked', 'it was not encrypted for the given key');
    if (!header.isWrittenWith(fileKey)) throw damaged('its header is damaged');
    // If the nonce is cut off, so are all chunks.
    yield* openedChunks(payloadKey(fileKey, await bytes.take(nonceSize)), bytes);
  } finally {
    await bytes.close();
  }
}

async function* openedChunks(key: Buffer, bytes: ByteReader): AsyncIterable<Buffer> {
  for (let number = 0; ; number++) {
    const chunk = await bytes.take(chunkSize + tagSize);
    if (chunk.length < tagSize) throw cutOff();
    const isLast = await bytes.isAtEnd();
    const plain = decrypted(key, nonceOf(number, isLast), chunk);
    // Each file has one encoding: an empty chunk must be the only one.
    if (plain === null || (plain.length === 0 && number > 0)) throw isLast ? cutOff() : changed(number);
    yield plain;
    if (isLast) return;
  }
}

const cutOff = () => damaged('its end is missing or damaged');
const changed = (number: number) => damaged(`it was changed or damaged, ${number * chunkSize} bytes in`);

function payloadKey(fileKey: Buffer, nonce: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32));
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(number, 5, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** Reads bytes in requested sizes from a source with arbitrary chunks. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Returns fewer bytes only at the end. */
  async take(count: number): Promise<Buffer> {
    await this.#fill(count);
    const taken = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(taken.length);
    return taken;
  }

  async isAtEnd(): Promise<boolean> {
    await this.#fill(1);
    return this.#held.length === 0;
  }

  /** Reads up to the next newline, which is consumed but not returned. */
  async line(longest: number): Promise<string> {
    let end = this.#held.indexOf(10);
    while (end < 0) {
      const before = this.#held.length;
      if (before > longest || !(await this.#more())) throw damaged('its header is damaged');
      end = this.#held.indexOf(10, before);
    }
    const line = this.#held.toString('latin1', 0, end);
    this.#held = this.#held.subarray(end + 1);
    return line;
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }

  async #fill(count: number): Promise<void> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count) {
      const { done, value } = await this.#source.next();
      if (done) break;
      parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      length += value.byteLength;
    }
    if (parts.length > 1) this.#held = Buffer.concat(parts);
  }

  async #more(): Promise<boolean> {
    const before = this.#held.length;
    await this.#fill(before + 1);
    return this.#held.length > before;
  }
}
