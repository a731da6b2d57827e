/**
 * Certificates. A certificate is public. Its private key, if it comes with one, is stored as a separate key that the
 * certificate names. A certificate is renewed as a new version, so that its readers get the new one by the same id and
 * name. A version that has already expired is refused, because it would take the certificate away from them.
 */
import type { List, PageQuery } from '../../contract/common.ts';
import { invalid } from '../../contract/errors.ts';
import type {
  Certificate,
  CertificateCreate,
  CertificateUpdate,
  CertificateVersion,
  RenewalRequest,
} from '../../contract/resources.ts';
import { type CertificateFacts, checkNames, type ImportedCertificate } from '../../material/certificate.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { listOf } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import {
  attributesOf,
  certificateAttributes,
  presentCertificate,
  presentCertificateVersion,
} from './certificate-attributes.ts';
import { certificateKeysWith } from './certificate-keys.ts';
import type { Labelled } from './lookup.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import type { MayWrite } from './subject.ts';
import type { NewResource, ResourceChanges } from './writes.ts';

type Writing = MayWrite<'certificate'>;

interface Source extends Pick<CertificateUpdate, 'pem' | 'pkcs12' | 'self_signed' | 'passphrase'> {
  readonly vault_id: string;
  /** The key that signs a self-signed certificate. */
  readonly key_id: string | null | undefined;
}

export function certificatesWith(parts: Parts, records: Records) {
  const { workers, now } = parts;
  const keys = certificateKeysWith(parts, records);

  async function source(permit: Writing, body: Source): Promise<ImportedCertificate> {
    if (body.pem !== undefined) return workers.importCertificatePem(body.pem, body.passphrase);
    if (body.pkcs12 !== undefined) return workers.importPkcs12(decodeBase64(body.pkcs12), body.passphrase);
    const { subject, sans = [], days } = body.self_signed!;
    checkNames(subject, sans, 'self_signed.');
    if (typeof body.key_id !== 'string') throw invalid('key_id', 'must name the signing key');
    const key = await keys.keyIn(permit, body.vault_id, body.key_id);
    const privatePem = await keys.signingKey(permit, key, 'key.signed_certificate');
    const pem = await workers.selfSign({ privatePem, subject, sans, notBefore: new Date(now()), days });
    return { ...(await workers.importCertificatePem(pem)), key: null };
  }

  async function sourceFor(permit: Writing, body: Source): Promise<ImportedCertificate> {
    const imported = await source(permit, body);
    const isNamedToo = body.key_id !== undefined && imported.key !== null;
    if (isNamedToo) throw invalid('key_id', 'can’t be combined with a private key');
    return imported;
  }

  async function createWith(permit: Writing, vault: OpenVault, body: CertificateCreate): Promise<Labelled> {
    const { pem, facts, key } = await sourceFor(permit, { ...body, key_id: body.key_id });
    if (body.key_id !== undefined) await keys.checkMatch(permit, vault.row.id, body.key_id, facts.publicPem);
    const newKeys = key === null ? [] : [await keys.newKey(permit, body.name, key)];
    const draft: NewResource<'certificate'> = {
      type: 'certificate',
      name: body.name,
      value: pem,
      tags: body.tags,
      expirationDate: facts.expiresAt.getTime(),
      attributes: attributesOf(facts, newKeys[0]?.id ?? body.key_id ?? null),
    };
    const [created] = await records.create(vault, [{ permit, ...draft }, ...newKeys]);
    return created!;
  }

  /** What a certificate becomes with another PEM. */
  function versionWith(field: string, pem: string, facts: CertificateFacts, keyId: string | null) {
    if (facts.expiresAt.getTime() <= now()) throw invalid(field, 'is a certificate that has expired');
    return {
      value: pem,
      expirationDate: facts.expiresAt.getTime(),
      attributes: attributesOf(facts, keyId),
    };
  }

  /** A certificate that is sent back as it is stored doesn't become a new version. */
  async function renewal(
    permit: Writing,
    row: ResourceRow,
    imported: ImportedCertificate,
    body: CertificateUpdate,
  ): Promise<ResourceChanges> {
    const open = await records.currentValue(row);
    const { keyId, beside } = await keys.forRenewal(permit, row, imported, body.key_id);
    if (open() === imported.pem)
      return { attributes: { ...certificateAttributes(row), key_id: keyId }, beside };
    const field = body.pkcs12 === undefined ? 'pem' : 'pkcs12';
    return { ...versionWith(field, imported.pem, imported.facts, keyId), beside };
  }

  async function keyChange(
    permit: Writing,
    row: ResourceRow,
    key_id: string | null,
  ): Promise<ResourceChanges> {
    const before = certificateAttributes(row);
    if (key_id !== null) await keys.checkMatch(permit, row.vault_id, key_id, before.public_pem);
    return { attributes: { ...before, key_id } };
  }

  /** The certificate that a body contains; null if it changes other fields only. */
  async function importedFrom(permit: Writing, id: string, body: CertificateUpdate) {
    if ((body.pem ?? body.pkcs12 ?? body.self_signed) === undefined) return null;
    const row = await records.find(permit, 'certificate', id);
    const signing = body.key_id ?? certificateAttributes(row).key_id;
    const key_id = body.self_signed === undefined ? body.key_id : signing;
    return sourceFor(permit, { ...body, vault_id: row.vault_id, key_id });
  }

  /** A signing request (CSR) created with a stored key, which doesn't leave the service for it. */
  async function requestWith(
    permit: Writing,
    key: Allowed<ResourceRow, 'certificates:write'>,
    subject: string,
    sans: readonly string[],
  ): Promise<{ pem: string }> {
    checkNames(subject, sans);
    const privatePem = await keys.signingKey(permit, key, 'key.signed_request');
    return { pem: await workers.signingRequest({ privatePem, subject, sans }) };
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

    async update(permit: Writing, id: string, body: CertificateUpdate): Promise<Certificate> {
      const { name, tags, key_id } = body;
      const imported = await importedFrom(permit, id, body);
      const revised = await records.revise(permit, 'certificate', id, async row => {
        if (imported !== null) return { name, tags, ...(await renewal(permit, row, imported, body)) };
        return { name, tags, ...(key_id === undefined ? {} : await keyChange(permit, row, key_id)) };
      });
      return presentCertificate(revised);
    },

    async versions(
      permit: Permit<'certificates:read'>,
      id: string,
      query: PageQuery,
    ): Promise<List<CertificateVersion>> {
      const { row, versions, total } = await records.versionPage(permit, 'certificate', id, query);
      const { sealer } = await records.vaultOf(row);
      const items = versions.map(one =>
        presentCertificateVersion(one, row, records.openValue(row, sealer, one.value, one.version)),
      );
      return listOf(items, total, query);
    },

    async rollback(permit: Writing, id: string, wanted: number): Promise<Certificate> {
      const revision = async (row: ResourceRow, { sealer }: OpenVault) => {
        const version = await records.versionOf(row, wanted);
        const stored = records.openValue(row, sealer, version.value, version.version);
        const { pem, facts } = await workers.importCertificatePem(stored);
        const { key_id } = certificateAttributes(version);
        const { keyId, beside } = await keys.forRollback(permit, row, facts.publicPem, key_id);
        return { ...versionWith('version', pem, facts, keyId), beside };
      };
      return presentCertificate(
        await records.revise(permit, 'certificate', id, revision, 'certificate.rolled_back'),
      );
    },

    async requestFor(permit: Writing, keyId: string, subject: string, sans: readonly string[]) {
      const key = await records.find(permit, 'key', keyId);
      return requestWith(permit, await keys.keyIn(permit, key.vault_id, keyId), subject, sans);
    },

    /** A signing request for the key that a certificate names, to renew it. */
    async renewalRequest(permit: Writing, id: string, body: RenewalRequest): Promise<{ pem: string }> {
      const row = await records.find(permit, 'certificate', id);
      const { key_id, subject, sans } = certificateAttributes(row);
      if (key_id === null) throw invalid('key_id', 'is not set: the certificate’s private key is not stored');
      const key = await keys.keyIn(permit, row.vault_id, key_id);
      return requestWith(permit, key, body.subject ?? subject, body.sans ?? sans);
    },
  };
}

/** Node's decoder skips invalid characters; here they are an error. */
function decodeBase64(text: string): Uint8Array {
  const compact = text.replace(/[\r\n\t ]/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    throw invalid('pkcs12', 'must be base64');
  }
  return Buffer.from(compact, 'base64');
}
