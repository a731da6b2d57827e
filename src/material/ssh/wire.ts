/**
 * The encoding of SSH (RFC 4251, section 5): numbers, strings with their length before them, and integers of any size.
 * Reading refuses whatever is cut off, has something after its end, or is not in its shortest form.
 */

/** Why bytes could not be read. Whoever reads them for a caller turns it into a failure. */
export class SshFormatError extends Error {}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

export function text(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([uint32(bytes.length), bytes]);
}

/** A positive integer from its bytes, the highest first. */
export function integer(magnitude: Uint8Array): Buffer {
  const first = magnitude.findIndex(byte => byte !== 0);
  const bytes = first === -1 ? Buffer.alloc(0) : Buffer.from(magnitude.subarray(first));
  return text((bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
}

export class SshReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new SshFormatError('cut off');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  uint64(): bigint {
    return this.#take(8).readBigUInt64BE();
  }

  bytes(): Buffer {
    return this.#take(this.uint32());
  }

  text(): string {
    return this.bytes().toString('latin1');
  }

  /** The magnitude of a positive integer. */
  integer(): Buffer {
    const bytes = this.bytes();
    const [first = 0, second = 0] = bytes;
    const isPadded = first === 0 && second < 0x80;
    if (bytes.length === 0 || first >= 0x80 || isPadded) throw new SshFormatError('not a positive integer');
    return first === 0 ? bytes.subarray(1) : bytes;
  }

  get isOver(): boolean {
    return this.#at === this.#bytes.length;
  }

  end(): void {
    if (!this.isOver) throw new SshFormatError('something follows');
  }
}
