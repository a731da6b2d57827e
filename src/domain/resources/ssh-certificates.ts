/**
 * SSH certificates of stored keys, whoever asks: an access key or an API key.
 *
 * Guarantees: only a key with an SSH profile signs them, within the bounds of the profile; a certificate is for at least
 * one principal, ends no later than the key and the credential that asked, and has a random serial; what it says is known
 * before the key is opened, so that it can be in the log first.
 */
import { randomBytes } from 'node:crypto';
import { matchesPattern } from '../../access/caller.ts';
import { earliest } from '../../access/policy.ts';
import type { Lane } from '../../base/fair-line.ts';
import { invalid } from '../../contract/errors.ts';
import {
  type SshCertificate,
  type SshCertificateCall,
  type SshCriticalOptions,
  type SshProfile,
  usualSshLife,
} from '../../contract/ssh.ts';
import { iso } from '../../contract/text.ts';
import { bytesToSign, type SshStatement, signedLine, sshSignature } from '../../material/ssh/certificate.ts';
import { readSshPublicKey, type SshPublicKey } from '../../material/ssh/public-key.ts';
import type { ResourceRow, ResourceWithValue } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyAttributes } from './key-attributes.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import { authorityOf, checkRanges } from './ssh-profiles.ts';

/** Who asks: the credential, as the log of a server shall name it, and when it ends. */
export interface Asker {
  readonly name: string;
  readonly until: number | null;
}

interface Planned {
  readonly statement: SshStatement;
  readonly authority: SshPublicKey;
  readonly alg: string;
  readonly options: SshCriticalOptions;
}

/** In seconds. Clocks of servers may be behind ours by this much. */
const earlier = 60;

export function sshCertificatesWith({ workers, now }: Pick<Parts, 'workers' | 'now'>, records: Records) {
  return {
    /** What would be signed. Throws if the profile doesn't allow it. */
    plan(row: ResourceRow, call: SshCertificateCall, asker: Asker): Planned {
      const attributes = keyAttributes(row);
      const { ssh: profile } = attributes;
      const { authority, alg } = authorityOf(attributes);
      if (profile === undefined || profile === null)
        throw invalid('key', 'does not sign SSH certificates: it has no SSH profile');
      const key = readSshPublicKey(call.public_key);
      checkSubjects(profile, call);
      const options = optionsFor(profile, call);
      const seconds = Math.floor(now() / 1_000);
      const end = earliest(row.expiration_date, asker.until, now() + lifeFor(profile, call) * 1_000)!;
      const statement = {
        key,
        nonce: randomBytes(32),
        serial: newSerial(),
        type: call.type,
        keyId: call.key_id ?? asker.name,
        principals: [...new Set(call.principals)],
        validAfter: seconds - earlier,
        validBefore: Math.floor(end / 1_000),
        criticalOptions: encodedOptions(options),
        extensions: extensionsFor(profile, call),
      };
      return { statement, authority, alg, options };
    },

    /** The value is opened here, after the log has been written if the caller must see to that. */
    async carryOut(
      { statement, authority, alg, options }: Planned,
      stored: ResourceRow & Pick<ResourceWithValue, 'value'>,
      { sealer }: OpenVault,
      lane: Lane,
    ): Promise<SshCertificate> {
      const { key_type, public_pem } = keyAttributes(stored);
      const signed = bytesToSign(statement, authority);
      const { version } = stored;
      const value = records.openValue(stored, sealer, stored.value);
      const [output] = await workers.of(lane).operateKey({
        operation: 'sign',
        keyId: stored.id,
        versions: [{ version, keyType: key_type, value, publicPem: public_pem }],
        inputs: [{ alg, version, value: signed.toString('base64url') }],
      });
      if (output === undefined || !('value' in output)) throw new Error('a certificate was not signed');
      const signature = sshSignature(authority, Buffer.from(output.value, 'base64url'));
      return {
        certificate: signedLine(statement, signed, signature),
        serial: String(statement.serial),
        key_id: statement.keyId,
        type: statement.type,
        principals: [...statement.principals],
        valid_after: iso(statement.validAfter * 1_000),
        valid_before: iso(statement.validBefore * 1_000),
        extensions: [...statement.extensions],
        critical_options: options,
        version,
      };
    },
  };
}

/** How the log describes a certificate, in one line: everything by which a server's log can be matched with it. */
export function certificateTold({ statement }: Planned): string {
  const { type, serial, validBefore, keyId, principals } = statement;
  const until = new Date(validBefore * 1_000).toISOString().slice(0, 19);
  return `ssh=${type} serial=${serial} until=${until}Z id=${JSON.stringify(keyId)} for=${principals.join(',')}`;
}

/** Random, so that none tells how many there are. Zero means "no serial" to OpenSSH. */
function newSerial(): bigint {
  return (randomBytes(8).readBigUInt64BE() & 0x7fff_ffff_ffff_ffffn) | 1n;
}

function checkSubjects(profile: SshProfile, { type, principals }: SshCertificateCall): void {
  if (!profile.types.includes(type))
    throw invalid('type', `must be one that the SSH profile allows: ${profile.types.join(', ')}`);
  const isAllowed = (name: string) => profile.principals.some(pattern => matchesPattern(pattern, name));
  if (!principals.every(isAllowed)) throw invalid('principals', 'must be allowed by the SSH profile');
}

function lifeFor({ max_valid_for: most }: SshProfile, { valid_for }: SshCertificateCall): number {
  if (valid_for !== undefined && valid_for > most)
    throw invalid('valid_for', `must be at most ${most}, as the SSH profile says`);
  return valid_for ?? Math.min(usualSshLife, most);
}

/** Certificates of hosts have neither extensions nor critical options: OpenSSH defines none for them. */
function extensionsFor(profile: SshProfile, { type, extensions }: SshCertificateCall): string[] {
  const wanted = extensions ?? (type === 'user' ? profile.extensions : []);
  if (type === 'host' && wanted.length > 0) throw invalid('extensions', 'must be empty for a host');
  if (!wanted.every(one => profile.extensions.includes(one)))
    throw invalid('extensions', 'must be among those of the SSH profile');
  return [...new Set(wanted)];
}

function optionsFor(profile: SshProfile, call: SshCertificateCall): SshCriticalOptions {
  const { type, critical_options: wanted = {} } = call;
  if (type === 'host') {
    if (Object.keys(wanted).length > 0) throw invalid('critical_options', 'must be empty for a host');
    return {};
  }
  const fixed = encodedOptions(profile.critical_options);
  const asked = encodedOptions(wanted);
  if (Object.entries(fixed).some(([name, value]) => name in asked && asked[name] !== value))
    throw invalid('critical_options', 'can’t replace an option of the SSH profile');
  checkRanges(wanted, 'critical_options');
  return { ...wanted, ...profile.critical_options };
}

/** By their names in OpenSSH. */
function encodedOptions(options: SshCriticalOptions): Record<string, string> {
  const { force_command: command, source_address: addresses, verify_required: isVerified } = options;
  return {
    ...(command === undefined ? {} : { 'force-command': command }),
    ...(addresses === undefined ? {} : { 'source-address': addresses.join(',') }),
    ...(isVerified === true ? { 'verify-required': '' } : {}),
  };
}
