/**
 * Certificates. A certificate is public. Its private key, if it comes with one, is stored as a separate key that the
 * certificate names. A certificate that doesn't match the key it names is refused.
 */
import type { Caller } from '../../access/caller.ts';
import { shownByPublicHalf } from '../../access/policy.ts';
import type { AuditAction } from '../../contract/audit-actions.ts';
import { type Failure, invalid } from '../../contract/errors.ts';
import type { Certificate, CertificateCreate, CertificateUpdate } from '../../contract/resources.ts';
import { iso } from '../../contract/text.ts';
import {
  type CertificateFacts,
  certificateFitsKey,
  checkNames,
  type ImportedCertificate,
} from '../../material/certificate.ts';
import type { KeyMaterial } from '../../material/key-material.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Permit } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Allowed } from '../kernel/subjects.ts';
import { keyAttributes, newKeyResource } from './keys.ts';
import { stateAt } from './lifecycle.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import { type MayWrite, notFoundAs, revealedOf } from './subject.ts';
import type { NewResource } from './writes.ts';

type Writing = MayWrite<'certificate'>;
type SigningKey = Allowed<ResourceRow, 'certificates:write'>;

type CertificateAttributes = ReturnType<typeof attributesOf>;

export function certificatesWith({ guard, workers, now, newId }: Parts, records: Records) {
  /** The key that a certificate names, which must be in the same vault. */
  async function keyIn(permit: Writing, vaultId: string, keyId: string): Promise<SigningKey> {
    await guard.mayShow(permit.caller, shownByPublicHalf, [vaultId]); // Whether it matches reveals which key it is.
    const key = await records.find(permit, 'key', keyId).catch(notFoundAs(noSuchKey()));
    if (key.vault_id !== vaultId) throw noSuchKey();
    return key;
  }

  async function checkFits(permit: Writing, vaultId: string, keyId: string, publicPem: string) {
    const key = await keyIn(permit, vaultId, keyId);
    if (!certificateFitsKey({ publicPem }, keyAttributes(key).public_pem)) {
      throw invalid('key_id', 'names a key that does not match the certificate');
    }
  }

  /** The private key of a stored key, for signing inside the service. Its use is recorded first. */
  async function signingKey(permit: Writing, row: SigningKey, verb: AuditAction): Promise<string> {
    if (keyAttributes(row).holds !== 'private') throw invalid('key_id', 'names a key without a private key');
    if (stateAt(row, now()) !== 'active') throw invalid('key_id', 'names a key that is not active');
    return guard.reveal(permit, verb, [revealedOf(row)], await records.currentValue(row));
  }

  async function source(permit: Writing, body: CertificateCreate): Promise<ImportedCertificate> {
    if (body.pem !== undefined) return workers.importCertificatePem(body.pem, body.passphrase);
    if (body.pkcs12 !== undefined) return workers.importPkcs12(decodeBase64(body.pkcs12), body.passphrase);
    const { subject, sans = [], days } = body.self_signed!;
    checkNames(subject, sans, 'self_signed.');
    const key = await keyIn(permit, body.vault_id, body.key_id!);
    const privatePem = await signingKey(permit, key, 'key.signed_certificate');
    const pem = await workers.selfSign({ privatePem, subject, sans, notBefore: new Date(now()), days });
    return { ...(await workers.importCertificatePem(pem)), key: null };
  }

  /** A private key that came with a certificate is stored like any other key. */
  async function importedKey(caller: Caller, name: string, key: KeyMaterial, id: string) {
    const permit = await guard.admit(caller, 'keys:write');
    return { ...newKeyResource(name, key, true), permit, id };
  }

  async function createWith(permit: Writing, vault: OpenVault, body: CertificateCreate): Promise<Labelled> {
    const { pem, facts, key } = await source(permit, body);
    if (key !== null && body.key_id !== undefined) {
      throw invalid('key_id', 'can’t be combined with a private key');
    }
    if (body.key_id !== undefined) await checkFits(permit, vault.row.id, body.key_id, facts.publicPem);
    const keyId = key === null ? (body.key_id ?? null) : newId();
    const draft: NewResource<'certificate'> = {
      type: 'certificate',
      name: body.name,
      value: pem,
      tags: body.tags,
      expirationDate: facts.expiresAt.getTime(),
      attributes: attributesOf(facts, keyId),
    };
    const newKeyResources = key === null ? [] : [await importedKey(permit.caller, body.name, key, keyId!)];
    const [created] = await records.create(vault, [{ permit, ...draft }, ...newKeyResources]);
    return created!;
  }

  return {
    ...records.collectionOf('certificate', presentCertificate),

    async get(permit: Permit<'certificates:read'>, id: string): Promise<Certificate> {
      const row = await records.find(permit, 'certificate', id);
      const open = await records.currentValue(row);
      return { ...presentCertificate(await records.labelled(row)), pem: open() };
    },

    async create(permit: Writing, body: CertificateCreate): Promise<Certificate> {
      const vault = await records.openVault(permit, body.vault_id);
      return presentCertificate(await createWith(permit, vault, body));
    },

    async update(
      permit: Writing,
      id: string,
      { name, tags, key_id }: CertificateUpdate,
    ): Promise<Certificate> {
      const revised = await records.revise(permit, 'certificate', id, async row => {
        if (key_id === undefined) return { name, tags };
        const before = certificateAttributes(row);
        if (key_id !== null) await checkFits(permit, row.vault_id, key_id, before.public_pem);
        return { name, tags, attributes: { ...before, key_id } };
      });
      return presentCertificate(revised);
    },

    /** A signing request (CSR) created with a stored key, which doesn't leave the service for it. */
    async requestFor(
      permit: Writing,
      keyId: string,
      subject: string,
      sans: readonly string[],
    ): Promise<{ pem: string }> {
      const key = await records.find(permit, 'key', keyId);
      await guard.mayShow(permit.caller, shownByPublicHalf, [key.vault_id]);
      checkNames(subject, sans);
      const privatePem = await signingKey(permit, key, 'key.signed_request');
      return { pem: await workers.signingRequest({ privatePem, subject, sans }) };
    },
  };
}

function noSuchKey(): Failure {
  return invalid('key_id', 'is not the id of a key in this vault');
}

/** Node's decoder skips invalid characters; here they are an error. */
function decodeBase64(text: string): Uint8Array {
  const compact = text.replace(/[\r\n\t ]/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    throw invalid('pkcs12', 'must be base64');
  }
  return Buffer.from(compact, 'base64');
}

function attributesOf(facts: CertificateFacts, keyId: string | null) {
  return {
    key_id: keyId,
    subject: facts.subject,
    issuer: facts.issuer,
    sans: facts.sans,
    serial: facts.serial,
    fingerprint: facts.fingerprint,
    not_before: facts.notBefore.getTime(),
    public_pem: facts.publicPem,
  };
}

function certificateAttributes(row: ResourceRow): CertificateAttributes {
  return JSON.parse(row.attributes) as CertificateAttributes;
}

function presentCertificate({ row, labels }: Labelled): Certificate {
  const { public_pem, not_before, sans, ...shown } = certificateAttributes(row);
  return {
    id: row.id,
    type: 'x509',
    name: row.name,
    vault_id: row.vault_id,
    ...shown,
    sans: [...sans],
    not_before: iso(not_before),
    expires_at: iso(row.expiration_date!),
    tags: labels.tags,
    version: row.version,
    created_at: iso(row.created_at),
    updated_at: iso(row.updated_at),
  };
}
