/**
 * Keys as SSH authorities, for callers of the general API: certificates for those who may use keys, each in the audit log
 * before it is signed; revocation for those who may change keys; and what servers fetch, the public keys and the
 * revocation list.
 */
import { earliest, endOfAll } from '../../access/policy.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type {
  SshCertificate,
  SshCertificateCall,
  SshRevocationCall,
  SshRevocations,
} from '../../contract/ssh.ts';
import { iso } from '../../contract/text.ts';
import { digestIn, type SshPublicKey, sshKeyOf, sshLineOf } from '../../material/ssh/public-key.ts';
import { revocationList } from '../../material/ssh/revocation-list.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { type KeyAttributes, keyAttributes, minVersionOf } from './key-attributes.ts';
import { mostInSet } from './key-sets.ts';
import { stateAt } from './lifecycle.ts';
import type { Records } from './records.ts';
import { certificateTold, sshCertificatesWith } from './ssh-certificates.ts';
import { revocationsOf, revokedAfter } from './ssh-profiles.ts';
import { subjectOf } from './subject.ts';

export type SshAuthorities = ReturnType<typeof sshAuthoritiesWith>;

export function sshAuthoritiesWith(parts: Parts, records: Records) {
  const { guard, store, stamps, now } = parts;
  const certificates = sshCertificatesWith(parts, records);

  async function authority(permit: Permit<'keys:read'>, id: string): Promise<ResourceRow> {
    const row = await records.find(permit, 'key', id);
    if (keyAttributes(row).ssh === undefined)
      throw invalid('id', 'is the id of a key without an SSH profile');
    return row;
  }

  /** The newest first. */
  async function versionsOf(row: ResourceRow): Promise<{ version: number; key: SshPublicKey }[]> {
    const oldest = Math.max(1, row.version - mostInSet + 1);
    const numbers = Array.from({ length: row.version - oldest + 1 }, (_, at) => row.version - at);
    const found = await Promise.all(numbers.map(number => records.versionOf(row, number)));
    return found.flatMap(({ attributes, version }) => {
      const key = sshKeyOf((JSON.parse(attributes) as KeyAttributes).public_pem);
      return key === null ? [] : { version, key };
    });
  }

  function present(row: ResourceRow): SshRevocations {
    const items = revocationsOf(row, now()).map(({ by, value, at }) => ({ by, value, revoked_at: iso(at) }));
    return { items };
  }

  return {
    async certify(permit: Permit<'keys:use'>, id: string, call: SshCertificateCall): Promise<SshCertificate> {
      const row = await records.find(permit, 'key', id);
      if (stateAt(row, now()) !== 'active') throw invalid('id', 'is the id of a key that is not active');
      const stored = await store.resources.withValue(row.vault_id, row.id);
      if (stored === undefined) throw new Failure('NOT_FOUND');
      const verified = stamps.resource.believe(stored);
      const { caller } = permit;
      const until = earliest(caller.until, caller.proof.until, endOfAll(caller, ['keys:use'], row.vault_id));
      const plan = certificates.plan(verified, call, { name: `${caller.kind} ${caller.id}`, until });
      const vault = await records.vaultOf(row);
      const lane = { organization: caller.organizationId, key: caller.id };
      const details = { operation: certificateTold(plan), version: verified.version };
      const subject = { ...subjectOf<'keys:use'>(row), details };
      const carryOut = () => certificates.carryOut(plan, verified, vault, lane);
      return (await guard.reveal(permit, 'key.used', [subject], () => ({ made: carryOut() }))).made;
    },

    async revoke(permit: Permit<'keys:write'>, id: string, call: SshRevocationCall): Promise<SshRevocations> {
      const { row } = await records.revise(
        permit,
        'key',
        id,
        before => {
          const attributes = keyAttributes(before);
          if (attributes.ssh === undefined) throw invalid('id', 'is the id of a key without an SSH profile');
          return { attributes: { ...attributes, ssh_revoked: revokedAfter(before, call, now()) } };
        },
        call.undo ? 'key.ssh_restored' : 'key.ssh_revoked',
      );
      return present(row);
    },

    revocations: async (permit: Permit<'keys:read'>, id: string): Promise<SshRevocations> =>
      present(await authority(permit, id)),

    /** One line for each version that is still trusted, the newest first. */
    async publicKeys(permit: Permit<'keys:read'>, id: string): Promise<string> {
      const row = await authority(permit, id);
      const trusted = (await versionsOf(row)).filter(({ version }) => version >= minVersionOf(row));
      return trusted.map(({ key, version }) => sshLineOf(key, `${row.id}.${version}`)).join('');
    },

    /** Versions that are no longer trusted are revoked with everything that they signed. */
    async revocationList(permit: Permit<'keys:read'>, id: string): Promise<Buffer> {
      const row = await authority(permit, id);
      const versions = await versionsOf(row);
      const revoked = Map.groupBy(revocationsOf(row, now()), ({ by }) => by);
      const values = (by: 'serial' | 'key_id' | 'public_key') =>
        (revoked.get(by) ?? []).map(({ value }) => value);
      const lowest = minVersionOf(row);
      const keysOf = (isTrusted: boolean) =>
        versions.filter(({ version }) => version >= lowest === isTrusted).map(({ key }) => key);
      return revocationList({
        version: row.revision,
        generatedAt: Math.floor(row.updated_at / 1_000),
        comment: row.id,
        authorities: keysOf(true),
        serials: values('serial').map(BigInt),
        keyIds: values('key_id'),
        keys: keysOf(false),
        digests: values('public_key').map(digestIn),
      });
    },
  };
}
