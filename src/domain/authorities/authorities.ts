/**
 * Certificate authorities of a vault. A root signs itself; an intermediate is signed by a root of ours, or elsewhere: then
 * its request is given out, and the certificate is brought back. The private key is created here and never leaves.
 * An authority on which something still depends can't be deleted, because only its key can revoke what it issued.
 */
import type {
  Authority,
  AuthorityCreate,
  AuthorityQuery,
  AuthorityUpdate,
} from '../../contract/authorities.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { readBroughtBack } from '../../material/authority-certificate.ts';
import { newSerial, readAuthority } from '../../material/authority-issue.ts';
import { checkNames } from '../../material/certificate.ts';
import { constraintsInclude, constraintsOf } from '../../material/name-constraints.ts';
import type { AuthorityRow } from '../../store/records/authorities.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import { named } from '../kernel/row-check.ts';
import type { Records } from '../resources/records.ts';
import { isReviewed, type OpenVault } from '../resources/sealing.ts';
import { notFoundAs } from '../resources/subject.ts';
import {
  activeCertificate,
  authorityChange,
  openAuthorityKey,
  presentAuthority,
  sealAuthorityKey,
} from './authority-records.ts';

type Writing = Permit<'authorities:write'>;

interface Certified extends Pick<AuthorityRow, 'certificate' | 'chain' | 'request' | 'expires_at'> {}

const yearMs = 365.25 * 86_400_000;
const second = 1_000;

export function certificateAuthoritiesWith(parts: Parts, records: Records) {
  const { store, stamps, workers, now, newId } = parts;
  const { find, list, get, change, revise, remove } = revisedRecords(parts, {
    noun: 'authorities',
    stamper: stamps.authority,
    byId: store.authorities.byId,
    page: (permit, page, query: AuthorityQuery) => {
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return null;
      const { organizationId } = permit.caller;
      return store.authorities.page({ organizationId, vaultIds, q: query.q }, page);
    },
    present: rows => rows.map(row => presentAuthority(row, now())),
    update: store.authorities.update,
    subject: authorityChange,
    vaultOf: row => row.vault_id,
  });

  /** The parent of a new authority, which must be a root of the same vault. */
  async function parentOf(permit: Writing, vaultId: string, id: string): Promise<AuthorityRow> {
    const parent: AuthorityRow = await find(permit, id).catch(notFoundAs(noSuchRoot));
    if (parent.vault_id !== vaultId || parent.kind !== 'root') throw noSuchRoot();
    return parent;
  }

  /** The certificate of a new authority, or the request for one. */
  async function certified(
    vault: OpenVault,
    body: AuthorityCreate,
    keys: { pem: string; publicPem: string },
    parent: AuthorityRow | null,
  ): Promise<Certified> {
    const begin = Math.floor(now() / second) * second;
    const draft = {
      subject: body.subject,
      serial: newSerial(),
      notBefore: new Date(begin),
      notAfter: new Date(begin + Math.floor((body.years * yearMs) / second) * second),
      permitted: body.permitted_names ?? null,
    };
    if (body.kind === 'root') {
      const certificate = await workers.issueRoot(keys.pem, draft);
      return { certificate, chain: '', request: null, expires_at: draft.notAfter.getTime() };
    }
    if (parent === null) {
      const asked = { privatePem: keys.pem, subject: body.subject, sans: [] };
      return { certificate: null, chain: '', request: await workers.signingRequest(asked), expires_at: null };
    }
    const above = activeCertificate(parent, now());
    const constraints = constraintsOf(readAuthority(above).tbs);
    if (!constraintsInclude(constraints, draft.permitted ?? []))
      throw invalid('permitted_names', 'must be within those of the authority above it');
    const signing = { certificatePem: above, privatePem: openAuthorityKey(vault.sealer, parent) };
    const certificate = await workers.issueIntermediate(signing, keys.publicPem, draft);
    const expiresAt = Math.min(draft.notAfter.getTime(), parent.expires_at!);
    return { certificate, chain: above + parent.chain, request: null, expires_at: expiresAt };
  }

  return {
    list,
    get,

    async create(permit: Writing, body: AuthorityCreate): Promise<Authority> {
      const { caller } = permit;
      checkNames(body.subject, []);
      const vault = await records.openVault(permit, body.vault_id);
      await mayCertify(parts, records, permit, vault.row.id);
      const parent =
        body.parent_id === undefined ? null : await parentOf(permit, vault.row.id, body.parent_id);
      const keys = await workers.generateKey(body.key);
      const id = newId();
      const row = stamps.authority.create(now(), {
        id,
        organization_id: caller.organizationId,
        vault_id: vault.row.id,
        ...named(body.name),
        kind: body.kind,
        parent_id: parent?.id ?? null,
        subject: body.subject,
        key: sealAuthorityKey(vault.sealer, id, keys.pem),
        public_pem: keys.publicPem,
        ...(await certified(vault, body, keys, parent)),
        created_by: caller.id,
      });
      const at = { table: 'resources', id: vault.row.id, revision: vault.row.revision } as const;
      const above = parent && ({ table: 'authorities', id: parent.id, revision: parent.revision } as const);
      const statements = [
        store.conditions.unchanged(above === null ? [at] : [at, above], 'stale'),
        store.authorities.insert(row),
      ];
      await change(permit, 'authority.created', row, { lasts: 'without end', statements });
      return presentAuthority(row, now());
    },

    update: (permit: Writing, id: string, body: AuthorityUpdate): Promise<Authority> =>
      revise(permit, id, 'authority.updated', async (before, next) => {
        await mayCertify(parts, records, permit, before.vault_id);
        const { name = before.name, certificate } = body;
        const isUnchanged = certificate === undefined || certificate === before.certificate;
        if (isUnchanged) return { row: next(named(name)), lasts: 'as before' };
        if (before.request === null)
          throw invalid('certificate', 'can only be brought to an intermediate that is signed elsewhere');
        const brought = readBroughtBack(certificate, before.public_pem, now());
        const { chain, subject, expiresAt } = brought;
        const columns = { certificate: brought.certificate, chain, subject, expires_at: expiresAt.getTime() };
        return { row: next({ ...named(name), ...columns }), lasts: 'without end' };
      }),

    remove: (permit: Writing, id: string): Promise<void> =>
      remove(permit, id, 'authority.deleted', async before => {
        if (await store.authorities.isNeeded(id, now())) throw stillNeeded();
        return { statements: store.authorities.remove(id, before.revision) };
      }),

    /** Its certificate and those above it, up to the root. */
    async chain(permit: Permit<'authorities:read'>, id: string): Promise<string> {
      const row = await find(permit, id);
      if (row.certificate === null) throw new Failure('NOT_FOUND');
      return row.certificate + row.chain;
    },

    find,
  };
}

/** What an authority signs is as good as the key. Where changes are reviewed, nobody would review these. */
export async function mayCertify(
  { guard }: Pick<Parts, 'guard'>,
  records: Records,
  { caller }: Permit,
  vaultId: string,
): Promise<void> {
  await guard.mayShow(caller, ['keys:use'], [vaultId]);
  const { row } = await records.vaultById(caller.organizationId, vaultId);
  if (!isReviewed(row)) return;
  await guard.mayShow(caller, ['proposals:bypass'], [vaultId], {
    because: 'In a vault with review, only an owner may set up authorities and profiles',
  });
}

function noSuchRoot(): Failure {
  return invalid('parent_id', 'is not the id of a root authority in this vault');
}

function stillNeeded(): Failure {
  return new Failure('CONFLICT', {
    message:
      'Profiles, authorities or certificates that have not expired depend on it: only its key can revoke what it issued',
  });
}
