/**
 * Builds DER, well-formed or not, for tests that need what no tool would write.
 */
export const tlv = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
};

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
  return Buffer.concat([Buffer.from([0x80 | bytes.length]), bytes]);
}

export const seq = (...parts: Uint8Array[]): Buffer => tlv(0x30, ...parts);
export const set = (...parts: Uint8Array[]): Buffer => tlv(0x31, ...parts);
export const octets = (bytes: Uint8Array): Buffer => tlv(0x04, bytes);
export const bits = (bytes: Uint8Array): Buffer => tlv(0x03, Buffer.from([0]), bytes);
export const nil = (): Buffer => Buffer.from([5, 0]);
export const wrap = (number: number, ...parts: Uint8Array[]): Buffer => tlv(0xa0 | number, ...parts);

export function int(value: bigint | number): Buffer {
  if (value < 0) return tlv(0x02, Buffer.from([Number(value) & 0xff]));
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex');
  return tlv(0x02, bytes[0]! & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export function oid(text: string): Buffer {
  const [first, second, ...rest] = text.split('.').map(Number) as [number, number, ...number[]];
  return tlv(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}

export const ids = {
  rsa: '1.2.840.113549.1.1.1',
  ec: '1.2.840.10045.2.1',
  p256: '1.2.840.10045.3.1.7',
  ed25519: '1.3.101.112',
  x25519: '1.3.101.110',
  mlDsa65: '2.16.840.1.101.3.4.3.18',
  mlKem768: '2.16.840.1.101.3.4.4.2',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  scrypt: '1.3.6.1.4.1.11591.4.11',
  hmacSha256: '1.2.840.113549.2.9',
  aes256: '2.16.840.1.101.3.4.1.42',
  sha256: '2.16.840.1.101.3.4.2.1',
  pbe3des: '1.2.840.113549.1.12.1.3',
  pbmac1: '1.2.840.113549.1.5.14',
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  secretBag: '1.2.840.113549.1.12.10.1.5',
  safeContentsBag: '1.2.840.113549.1.12.10.1.6',
  x509Certificate: '1.2.840.113549.1.9.22.1',
} as const;

export const pem = (label: string, bytes: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

/** The bytes of the first PEM block. */
export const unpem = (text: string): Buffer =>
  Buffer.from(/-----BEGIN [^-]+-----([^-]+)-----END/.exec(text)![1]!.replace(/\s/g, ''), 'base64');

export const pbkdf2 = (iterations: bigint | number, salt: Uint8Array = Buffer.alloc(8, 7)): Buffer =>
  seq(oid(ids.pbkdf2), seq(octets(salt), int(iterations), seq(oid(ids.hmacSha256), nil())));

export const scrypt = (n: bigint | number, r: bigint | number, p: bigint | number): Buffer =>
  seq(oid(ids.scrypt), seq(octets(Buffer.alloc(8, 7)), int(n), int(r), int(p)));

/** A PBES2 AlgorithmIdentifier around a key derivation. */
export const pbes2 = (
  kdf: Uint8Array,
  cipher: string = ids.aes256,
  iv: Uint8Array = Buffer.alloc(16, 9),
): Buffer => seq(oid(ids.pbes2), seq(kdf, seq(oid(cipher), octets(iv))));

export const contentInfo = (type: string, content: Uint8Array): Buffer => seq(oid(type), wrap(0, content));
export const bag = (type: string, value: Uint8Array): Buffer => seq(oid(type), wrap(0, value));
export const certificateBag = (der: Uint8Array): Buffer =>
  bag(ids.certificateBag, seq(oid(ids.x509Certificate), wrap(0, octets(der))));
export const plainSafe = (...bags: Uint8Array[]): Buffer => contentInfo(ids.data, octets(seq(...bags)));
export const lockedSafe = (algorithm: Uint8Array, ciphertext: Uint8Array): Buffer =>
  contentInfo(ids.encryptedData, seq(int(0), seq(oid(ids.data), algorithm, tlv(0x80, ciphertext))));

/** MacData with PKCS#12's own derivation. */
export const macData = (mac: Uint8Array, salt: Uint8Array, iterations: bigint | number): Buffer =>
  seq(seq(seq(oid(ids.sha256), nil()), octets(mac)), octets(salt), int(iterations));

export const pfx = (content: Uint8Array, mac: Uint8Array, version = 3): Buffer =>
  seq(int(version), contentInfo(ids.data, octets(content)), mac);
