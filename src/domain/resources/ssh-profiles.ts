/**
 * The SSH profile of a key, and what is revoked of the certificates that it signed, as parts of its attributes.
 *
 * Guarantees: only a key whose private key never leaves the service has a profile, so that nobody signs beside it; a
 * revocation is kept for as long as any certificate can be valid.
 */
import { isIP } from 'node:net';
import { isCidr } from '../../access/address.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import {
  longestSshLife,
  mostSshRevocations,
  type SshCriticalOptions,
  type SshProfile,
  type SshRevocationCall,
} from '../../contract/ssh.ts';
import { signingAlgorithmOf } from '../../material/ssh/certificate.ts';
import { fingerprintOf, readSshPublicKey, sshKeyOf } from '../../material/ssh/public-key.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { type KeyAttributes, keyAttributes, type SshRevocation } from './key-attributes.ts';

/** The public key in SSH's form and the algorithm. Throws for keys that can't sign certificates. */
export function authorityOf({ public_pem, holds }: Pick<KeyAttributes, 'public_pem' | 'holds'>) {
  const authority = sshKeyOf(public_pem);
  const alg = authority === null ? null : signingAlgorithmOf(authority);
  if (authority === null || alg === null || holds !== 'private')
    throw invalid(
      'ssh',
      'requires a key that can sign SSH certificates: a private key of Ed25519, P-256, P-384, P-521 or RSA',
    );
  return { authority, alg };
}

/** The attributes with another profile, or without one. */
export function withSshProfile(attributes: KeyAttributes, wanted: SshProfile | null): KeyAttributes {
  if (wanted === null) return { ...attributes, ssh: undefined };
  authorityOf(attributes);
  if (attributes.exportable)
    throw invalid('ssh', 'requires a key that is not exportable: create one with "exportable": false');
  checkRanges(wanted.critical_options, 'ssh');
  return { ...attributes, ssh: wanted };
}

export function checkRanges(options: SshCriticalOptions, field: string): void {
  const isRange = (text: string) => (text.includes('/') ? isCidr(text) : isIP(text) !== 0);
  if (options.source_address?.every(isRange) !== false) return;
  throw invalid(field, 'must have IP addresses or ranges such as 10.0.0.0/8 as source_address');
}

/** Those that still matter, because a certificate signed before them could still be valid. */
export function revocationsOf(row: Pick<ResourceRow, 'attributes'>, now: number): readonly SshRevocation[] {
  const kept = now - (longestSshLife + graceForClocks) * 1_000;
  // A key id or a key may be certified again at any time, a serial never.
  return (keyAttributes(row).ssh_revoked ?? []).filter(({ by, at }) => by !== 'serial' || at > kept);
}

/** In seconds. */
const graceForClocks = 86_400;

/** The revocations after a call: what it names is added, or taken off. */
export function revokedAfter(
  row: Pick<ResourceRow, 'attributes'>,
  call: SshRevocationCall,
  now: number,
): readonly SshRevocation[] {
  const before = revocationsOf(row, now);
  const named = namedIn(call);
  const others = before.filter(one => !named.some(same(one)));
  if (call.undo) return others;
  const added = named.map(one => before.find(same(one)) ?? { ...one, at: now });
  const all = [...others, ...added];
  if (all.length > mostSshRevocations) throw tooMany();
  return all;
}

type Named = Pick<SshRevocation, 'by' | 'value'>;

function namedIn({ serials = [], key_ids = [], public_keys = [] }: SshRevocationCall): Named[] {
  const all: Named[] = [
    ...serials.map(value => ({ by: 'serial' as const, value })),
    ...key_ids.map(value => ({ by: 'key_id' as const, value })),
    ...public_keys.map(line => ({ by: 'public_key' as const, value: fingerprintIn(line) })),
  ];
  return all.filter((one, at) => all.findIndex(same(one)) === at);
}

const same = (one: Named) => (other: Named) => one.by === other.by && one.value === other.value;

function fingerprintIn(line: string): string {
  const given = line.trim();
  if (/^SHA256:[A-Za-z0-9+/]{43}$/.test(given)) return given;
  return fingerprintOf(readSshPublicKey(given, 'public_keys'));
}

function tooMany(): Failure {
  return new Failure('CONFLICT', {
    message: `A key has at most ${mostSshRevocations} revocations: rotate it and raise min_version, which ends everything that older versions signed`,
  });
}
