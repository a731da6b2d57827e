/**
 * Certificates. A certificate is public; its private key, where it comes with one, is stored as a key of its
 * own, and the certificate names it. A certificate that does not fit the key that it names is refused.
 */
import type { Caller } from '../access/caller.ts';
import { Failure, invalid } from '../contract/errors.ts';
import type {
  Certificate,
  CertificateCreate,
  CertificateUpdate,
  ResourceQuery,
} from '../contract/resources.ts';
import { iso } from '../contract/text.ts';
import {
  type CertificateFacts,
  certificateFitsKey,
  checkNames,
  type ImportedCertificate,
  importCertificatePem,
  importPkcs12,
  selfSign,
  signingRequest,
} from '../material/certificate.ts';
import type { ResourceRow } from '../store/resources.ts';
import type { Labelled } from './catalogue.ts';
import { type Collection, listOf } from './collection.ts';
import type { OpenVault } from './contents.ts';
import { keyAttributes, keyDraft } from './keys.ts';
import { stateAt } from './lifecycle.ts';
import type { Parts } from './parts.ts';
import type { Draft, Shelf } from './shelf.ts';
import { notFoundAs, subjectOf } from './subject.ts';

export interface Certificates
  extends Collection<Certificate, CertificateCreate, CertificateUpdate, ResourceQuery> {
  /** A signing request (CSR) made with a stored key, which never leaves for it. */
  requestFor(
    caller: Caller,
    keyId: string,
    subject: string,
    sans: readonly string[],
  ): Promise<{ pem: string }>;
}

export interface CertificateAttributes {
  readonly key_id: string | null;
  readonly subject: string;
  readonly issuer: string;
  readonly sans: readonly string[];
  readonly serial: string;
  readonly fingerprint: string;
  readonly not_before: number;
  readonly public_pem: string;
}

export function certificatesWith({ store, stamps, guard, now, newId }: Parts, shelf: Shelf): Certificates {
  /** The key that a certificate names, which must lie in the same vault. */
  async function keyIn(caller: Caller, vaultId: string, keyId: string): Promise<ResourceRow> {
    const key = await shelf.find(caller, 'key', keyId).catch(notFoundAs(noSuchKey()));
    if (key.vault_id !== vaultId) throw noSuchKey();
    return key;
  }

  async function checkFits(caller: Caller, vaultId: string, keyId: string, publicPem: string): Promise<void> {
    const key = await keyIn(caller, vaultId, keyId);
    if (!certificateFitsKey({ publicPem }, keyAttributes(key).public_pem)) {
      throw invalid('key_id', 'names a key that does not fit the certificate');
    }
  }

  /** The private half of a stored key, for signing inside the service. The use is written down first. */
  async function signingKey(caller: Caller, row: ResourceRow, verb: string): Promise<string> {
    if (keyAttributes(row).holds !== 'private')
      throw invalid('key_id', 'names a key without its private half');
    if (stateAt(row, now()) !== 'active') throw invalid('key_id', 'names a key that is not active now');
    const { box } = await shelf.vaultOf(row);
    const stored = await store.resources.withValue(row.vault_id, row.id);
    if (stored === undefined) throw new Failure('NOT_FOUND');
    const { value } = stamps.resource.believe(stored);
    return guard.reveal(caller, 'certificates:write', verb, subjectOf(row), () =>
      shelf.openValue(row, box, value),
    );
  }

  async function source(caller: Caller, body: CertificateCreate): Promise<ImportedCertificate> {
    if (body.pem !== undefined) return importCertificatePem(body.pem, body.passphrase);
    if (body.pkcs12 !== undefined) return importPkcs12(decodeBase64(body.pkcs12), body.passphrase);
    const { subject, sans = [], days } = body.self_signed!;
    checkNames(subject, sans, 'self_signed.');
    const key = await keyIn(caller, body.vault_id, body.key_id!);
    const privatePem = await signingKey(caller, key, 'key.signed_certificate');
    const pem = await selfSign({ privatePem, subject, sans, notBefore: new Date(now()), days });
    return { ...(await importCertificatePem(pem)), key: null };
  }

  async function createWith(caller: Caller, vault: OpenVault, body: CertificateCreate): Promise<Labelled> {
    const { pem, facts, key } = await source(caller, body);
    if (key !== null && body.key_id !== undefined) {
      throw invalid('key_id', 'must not be given together with a private key');
    }
    if (body.key_id !== undefined) await checkFits(caller, vault.row.id, body.key_id, facts.publicPem);
    const keyId = key === null ? (body.key_id ?? null) : newId();
    const draft: Draft = {
      type: 'certificate',
      name: body.name,
      value: pem,
      tags: body.tags,
      expirationDate: facts.expiresAt.getTime(),
      attributes: { ...attributesOf(facts, keyId) },
    };
    const keyDrafts = key === null ? [] : [{ ...keyDraft(body.name, key, true), id: keyId! }];
    const [created] = await shelf.create(caller, vault, [draft, ...keyDrafts]);
    return created!;
  }

  async function pemOf(row: ResourceRow): Promise<string> {
    const { box } = await shelf.vaultOf(row);
    const stored = await store.resources.withValue(row.vault_id, row.id);
    if (stored === undefined) throw new Failure('NOT_FOUND');
    return shelf.openValue(row, box, stamps.resource.believe(stored).value);
  }

  return {
    async list(caller, query) {
      await guard.admit(caller, 'certificates:read');
      const { items, total } = await shelf.list(caller, 'certificate', query);
      return listOf(items.map(presentCertificate), total, query);
    },

    async get(caller, id) {
      await guard.admit(caller, 'certificates:read');
      const row = await shelf.find(caller, 'certificate', id);
      return { ...presentCertificate(await shelf.labelled(row)), pem: await pemOf(row) };
    },

    async create(caller, body) {
      await guard.admit(caller, 'certificates:write');
      const vault = await shelf.openVault(caller, body.vault_id);
      return presentCertificate(await createWith(caller, vault, body));
    },

    async update(caller, id, { name, tags, key_id }) {
      await guard.admit(caller, 'certificates:write');
      const revised = await shelf.revise(caller, 'certificate', id, async row => {
        if (key_id === undefined) return { name, tags };
        const before = certificateAttributes(row);
        if (key_id !== null) await checkFits(caller, row.vault_id, key_id, before.public_pem);
        return { name, tags, attributes: { ...before, key_id } };
      });
      return presentCertificate(revised);
    },

    async remove(caller, id, purge) {
      await guard.admit(caller, 'certificates:write');
      await shelf.remove(caller, 'certificate', id, purge);
    },

    async requestFor(caller, keyId, subject, sans) {
      await guard.admit(caller, 'certificates:write');
      const key = await shelf.find(caller, 'key', keyId);
      checkNames(subject, sans);
      const privatePem = await signingKey(caller, key, 'key.signed_request');
      return { pem: await signingRequest({ privatePem, subject, sans }) };
    },
  };
}

function noSuchKey(): Failure {
  return invalid('key_id', 'names no key in this vault');
}

/** Node's own decoder skips what it does not know; here every character counts. */
function decodeBase64(text: string): Uint8Array {
  const compact = text.replace(/[\r\n\t ]/g, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    throw invalid('pkcs12', 'must be base64');
  }
  return Buffer.from(compact, 'base64');
}

function attributesOf(facts: CertificateFacts, keyId: string | null): CertificateAttributes {
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

export function certificateAttributes(row: ResourceRow): CertificateAttributes {
  return JSON.parse(row.attributes) as CertificateAttributes;
}

export function presentCertificate({ row, labels }: Labelled): Certificate {
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
