/** A passkey authenticator in software: makes ES256 credentials and signs with them, as a browser would hand them on. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

interface Options {
  readonly challenge: string;
  readonly rp?: { readonly id?: string };
  readonly rpId?: string;
}

export interface Quirks {
  readonly origin?: string;
  readonly rpId?: string;
  /** Whether its user was verified, by a finger or a PIN. */
  readonly verified?: boolean;
  readonly counter?: number;
  readonly challenge?: string;
  readonly type?: string;
}

const present = 0x01;
const userVerified = 0x04;
const attested = 0x40;

export class Authenticator {
  readonly #origin: string;
  readonly id = randomBytes(32);
  readonly #privateKey: KeyObject;
  readonly #publicKey: Buffer;

  constructor(origin: string) {
    this.#origin = origin;
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#privateKey = pair.privateKey;
    const { x, y } = pair.publicKey.export({ format: 'jwk' });
    this.#publicKey = map([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, 'base64url')],
      [-3, Buffer.from(y!, 'base64url')],
    ]);
  }

  /** What `navigator.credentials.create` answers. */
  create(options: Options, quirks: Quirks = {}) {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.id.length);
    const data = Buffer.concat([
      this.#data(options.rp!.id!, quirks, attested),
      Buffer.alloc(16),
      length,
      this.id,
      this.#publicKey,
    ]);
    const attestation = map([
      ['fmt', 'none'],
      ['attStmt', null],
      ['authData', data],
    ]);
    return this.#credential({
      clientDataJSON: this.#clientData('webauthn.create', options, quirks).toString('base64url'),
      attestationObject: attestation.toString('base64url'),
      transports: ['internal'],
    });
  }

  /** What `navigator.credentials.get` answers. */
  get(options: Options, quirks: Quirks = {}) {
    const authenticatorData = this.#data(options.rpId!, quirks, 0);
    const clientData = this.#clientData('webauthn.get', options, quirks);
    const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()]);
    return this.#credential({
      clientDataJSON: clientData.toString('base64url'),
      authenticatorData: authenticatorData.toString('base64url'),
      signature: sign('sha256', signed, this.#privateKey).toString('base64url'),
    });
  }

  #credential(response: Record<string, unknown>) {
    const id = this.id.toString('base64url');
    return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
  }

  #data(rpId: string, { verified = true, counter = 0, rpId: other }: Quirks, flags: number): Buffer {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    const hash = createHash('sha256')
      .update(other ?? rpId)
      .digest();
    return Buffer.concat([hash, Buffer.from([flags | present | (verified ? userVerified : 0)]), count]);
  }

  #clientData(type: string, options: Options, quirks: Quirks): Buffer {
    return Buffer.from(
      JSON.stringify({
        type: quirks.type ?? type,
        challenge: quirks.challenge ?? options.challenge,
        origin: quirks.origin ?? this.#origin,
        crossOrigin: false,
      }),
    );
  }
}

/** As much of CBOR as an authenticator speaks. */
function map(entries: readonly (readonly [number | string, number | string | Buffer | null])[]): Buffer {
  const parts = entries.flatMap(([key, value]) => [item(key), item(value)]);
  return Buffer.concat([head(5, entries.length), ...parts]);
}

function item(value: number | string | Buffer | null): Buffer {
  if (value === null) return head(5, 0);
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  const bytes = Buffer.from(value as string);
  return Buffer.concat([head(typeof value === 'string' ? 3 : 2, bytes.length), bytes]);
}

function head(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size]);
  if (size < 256) return Buffer.from([(major << 5) | 24, size]);
  return Buffer.from([(major << 5) | 25, size >> 8, size & 0xff]);
}

/** The seed of one-time codes, as an authenticator reads it. */
export function fromBase32(text: string): Buffer {
  const bits = [...text].map(letter =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  );
  return Buffer.from(
    bits
      .join('')
      .match(/.{8}/g)!
      .map(byte => Number.parseInt(byte, 2)),
  );
}
