/**
 * Key revocation lists in OpenSSH's binary form (PROTOCOL.krl), as `RevokedKeys` of sshd and of ssh reads them. They are
 * not signed: OpenSSH does not check signatures of these lists any more, so they must be fetched over a channel that is
 * authenticated. The same content always has the same bytes.
 */
import type { SshPublicKey } from './public-key.ts';
import { text, uint32, uint64 } from './wire.ts';

export interface SshRevocations {
  /** Increases with each change. */
  readonly version: number;
  /** In seconds since 1970. */
  readonly generatedAt: number;
  readonly comment: string;
  /** Those whose certificates the serials and key ids are of. */
  readonly authorities: readonly SshPublicKey[];
  readonly serials: readonly bigint[];
  readonly keyIds: readonly string[];
  /** Keys that are revoked themselves, and as authorities with everything that they signed. */
  readonly keys: readonly SshPublicKey[];
  /** SHA-256 digests of public keys. */
  readonly digests: readonly Buffer[];
}

const magic = 0x5353484b524c0a00n;
const format = 1;
const sections = { certificates: 1, keys: 2, digests: 5 } as const;
const ofCertificates = { serials: 0x20, keyIds: 0x23 } as const;

export function revocationList(revocations: SshRevocations): Buffer {
  const { version, generatedAt, comment, authorities, keys, digests } = revocations;
  const revoked = certificatesIn(revocations);
  const parts = [
    uint64(magic),
    uint32(format),
    uint64(BigInt(version)),
    uint64(BigInt(generatedAt)),
    uint64(0n),
    text(''),
    text(comment),
  ];
  if (revoked.length > 0)
    for (const { blob } of authorities)
      parts.push(section(sections.certificates, Buffer.concat([text(blob), text(''), ...revoked])));
  if (keys.length > 0) parts.push(section(sections.keys, stringsIn(keys.map(({ blob }) => blob))));
  if (digests.length > 0) parts.push(section(sections.digests, stringsIn(digests)));
  return Buffer.concat(parts);
}

function certificatesIn({ serials, keyIds }: SshRevocations): Buffer[] {
  const ascending = [...serials].sort((one, other) => (one < other ? -1 : 1));
  const parts: Buffer[] = [];
  if (ascending.length > 0) parts.push(section(ofCertificates.serials, Buffer.concat(ascending.map(uint64))));
  if (keyIds.length > 0)
    parts.push(section(ofCertificates.keyIds, stringsIn(keyIds.map(one => Buffer.from(one)))));
  return parts;
}

function stringsIn(all: readonly Buffer[]): Buffer {
  return Buffer.concat([...all].sort(Buffer.compare).map(text));
}

function section(kind: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(kind), text(content)]);
}
