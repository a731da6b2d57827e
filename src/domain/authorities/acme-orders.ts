/**
 * Orders of ACME clients. The profile’s names and the binding to an access key are what authorizes an order, so it is
 * ready when it is created. Finishing an order, its certificate and the audit entries of both are one unit: there is no
 * certificate without its order, and a request that is repeated after a crash finds the order as it was.
 */
import {
  AcmeProblem,
  finalizePayload,
  orderPayload,
  payloadOf,
  revocationPayload,
} from '../../contract/acme.ts';
import { type IssuedName, issuedName } from '../../contract/certificate-names.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { RevocationReason } from '../../contract/names.ts';
import { type PublicJwk, publicPemOf } from '../../material/acme-signatures.ts';
import { serialInCertificate } from '../../material/authority-certificate.ts';
import { readRequest } from '../../material/certificate-request.ts';
import type { AcmeAccountRow, AcmeOrderRow } from '../../store/records/acme.ts';
import type { IssuedCertificateRow, ProfileRow } from '../../store/records/authorities.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { type AcmeRequests, accountIn, type Received } from './acme-requests.ts';
import { activeCertificate, keyIdentifier } from './authority-records.ts';
import { checkIssuable, type Issuance } from './issuance.ts';
import { issuedChange, revokedNow } from './issued-certificates.ts';

export interface RenewalWindow {
  readonly start: number;
  readonly end: number;
}

const orderLife = 7 * 86_400_000;
const base64url = /^[\w-]+$/;

/** By the numbers of RFC 5280. */
const reasons: Readonly<Record<number, RevocationReason>> = {
  0: 'unspecified',
  1: 'key_compromise',
  3: 'affiliation_changed',
  4: 'superseded',
  5: 'cessation_of_operation',
};

export function acmeOrdersWith(parts: Parts, requests: AcmeRequests, issuance: Issuance) {
  const { store, stamps, guard, now, newId } = parts;

  /** The certificate that a renewal identifier names, if this profile issued it. */
  async function certificateNamed(profile: ProfileRow, named: string): Promise<IssuedCertificateRow | null> {
    const [identifier = '', serial = '', ...more] = named.split('.');
    if (more.length > 0 || ![identifier, serial].every(part => base64url.test(part))) return null;
    const authority = await issuance.authorityOf(profile);
    if (authority.certificate === null) return null;
    const known = Buffer.from(keyIdentifier(authority.certificate), 'hex').toString('base64url');
    const hex = Buffer.from(serial, 'base64url')
      .toString('hex')
      .replace(/^00(?=[89a-f])/, '');
    const found =
      identifier === known ? await store.issuedCertificates.bySerial(authority.id, hex) : undefined;
    if (found?.profile_id !== profile.id) return null;
    return stamps.issuedCertificate.believe(found);
  }

  /** The certificate that an order may replace: of the same account, with a name in common, and not replaced yet. */
  async function replaced(
    { profile }: Received,
    account: AcmeAccountRow,
    named: string,
    names: readonly IssuedName[],
  ) {
    const certificate = await certificateNamed(profile, named);
    const order = certificate && (await store.acme.orderOf(certificate.id));
    if (!certificate || order?.account_id !== account.id)
      throw new AcmeProblem('malformed', 'replaces must name a certificate of this account');
    const known = JSON.parse(certificate.names) as string[];
    if (!names.some(({ value }) => known.includes(value)))
      throw new AcmeProblem('malformed', 'replaces must name a certificate that has one of these names');
    await refuseReplaced(certificate.id);
    return certificate.id;
  }

  async function refuseReplaced(certificateId: string): Promise<void> {
    if ((await store.acme.replacementOf(certificateId)) !== undefined)
      throw new AcmeProblem('alreadyReplaced', 'the certificate was replaced by another order');
  }

  function namesIn(identifiers: readonly { type: string; value: string }[]): IssuedName[] {
    const all = identifiers.map(({ type, value }) => {
      if (type !== 'dns' && type !== 'ip')
        throw new AcmeProblem('unsupportedIdentifier', 'identifiers must be of type dns or ip');
      const name = issuedName(value);
      if (name?.kind !== type)
        throw new AcmeProblem('rejectedIdentifier', `an identifier is no well-formed ${type} name`);
      return name;
    });
    return [...new Map(all.map(name => [`${name.kind} ${name.value}`, name])).values()];
  }

  async function findOrder(received: Received, id: string): Promise<AcmeOrderRow> {
    const account = accountIn(received);
    const found = isId(id) ? await store.acme.order(account.id, id) : undefined;
    if (found === undefined) throw new Failure('NOT_FOUND');
    const row = stamps.acmeOrder.believe(found);
    const isOver = row.state === 'ready' && row.expires_at <= now();
    return isOver ? { ...row, state: 'invalid' } : row;
  }

  async function issuable(profile: ProfileRow, names: readonly IssuedName[]): Promise<void> {
    const authority = await issuance.authorityOf(profile);
    try {
      checkIssuable(profile, activeCertificate(authority, now()) + authority.chain, names);
    } catch (error) {
      throw problemOf(error, 'rejectedIdentifier');
    }
  }

  /** Reads a request for a certificate, which must have exactly the names of the order. */
  function requestFor(order: AcmeOrderRow, account: AcmeAccountRow, csr: string) {
    if (!base64url.test(csr)) throw new AcmeProblem('badCSR', 'csr must be DER in base64url');
    const request = readCsr(Buffer.from(csr, 'base64url'));
    const asked = request.names.map(({ kind, value }) => `${kind} ${value}`).sort();
    if (JSON.stringify(asked) !== JSON.stringify((JSON.parse(order.names) as string[]).toSorted()))
      throw new AcmeProblem('badCSR', 'the request must have exactly the names of the order');
    if (publicPemOf(JSON.parse(account.jwk) as PublicJwk) === request.publicPem)
      throw new AcmeProblem('badCSR', 'the key must not be that of the account');
    return request;
  }

  return {
    /** Records why a request of an account was refused, so that the operator sees it too. */
    async noteRefusal({ account, profile, origin }: Received, problem: AcmeProblem): Promise<void> {
      if (account !== null)
        await requests.refused(account, profile, origin, `${problem.type}: ${problem.message}`);
    },

    async create(received: Received): Promise<AcmeOrderRow> {
      const { profile, origin } = received;
      const account = accountIn(received);
      const body = payloadOf(orderPayload, received.payload);
      if (body.notBefore !== undefined || body.notAfter !== undefined)
        throw new AcmeProblem('malformed', 'notBefore and notAfter are decided by the profile');
      const names = namesIn(body.identifiers);
      const { actor, statements } = await requests.standing(account, profile, origin);
      await issuable(profile, names);
      const replaces =
        body.replaces === undefined ? null : await replaced(received, account, body.replaces, names);
      const row = stamps.acmeOrder.create(now(), {
        id: newId(),
        organization_id: profile.organization_id,
        vault_id: profile.vault_id,
        profile_id: profile.id,
        account_id: account.id,
        names: JSON.stringify(names.map(({ kind, value }) => `${kind} ${value}`)),
        state: 'ready',
        expires_at: now() + orderLife,
        certificate_id: null,
        replaces,
      });
      await guard.used(actor, 'acme-order.created', {
        subjects: [orderChange(row)],
        statements: [...statements, store.acme.insertOrder(row)],
        touches: [row.id],
      });
      return row;
    },

    find: findOrder,

    /** Of an order that is finished already, the order as it is. */
    async finalize(received: Received, id: string): Promise<AcmeOrderRow> {
      const { profile, origin } = received;
      const account = accountIn(received);
      const { csr } = payloadOf(finalizePayload, received.payload);
      return retryingStale(async () => {
        const order = await findOrder(received, id);
        if (order.state !== 'ready') throw new AcmeProblem('orderNotReady', `the order is ${order.state}`);
        const request = requestFor(order, account, csr);
        const standing = await requests.standing(account, profile, origin);
        if (order.replaces !== null) await refuseReplaced(order.replaces);
        const requester = { kind: 'access-key', id: account.access_key_id };
        const issued = await issuance
          .issue(profile, { ...request, requester, until: standing.until })
          .catch(error => {
            throw problemOf(error, 'rejectedIdentifier');
          });
        const done = stamps.acmeOrder.revise(order, { state: 'valid', certificate_id: issued.row.id }, now());
        await guard.used(standing.actor, 'issued-certificate.created', {
          subjects: [issuedChange(issued.row), { ...orderChange(done), verb: 'acme-order.finished' }],
          statements: [...standing.statements, ...issued.statements, store.acme.updateOrder(done)],
          touches: [issued.row.id, done.id],
        });
        return done;
      });
    },

    /** The certificate of an order, and those above it except the root, which clients have. */
    async certificate(received: Received, id: string): Promise<string> {
      const order = await findOrder(received, id);
      const { profile } = received;
      const found =
        order.certificate_id &&
        (await store.issuedCertificates.byId(profile.organization_id, order.certificate_id));
      if (!found) throw new Failure('NOT_FOUND');
      const { certificate } = stamps.issuedCertificate.believe(found);
      const authority = await issuance.authorityOf(profile);
      const above =
        `${authority.certificate}${authority.chain}`.match(
          /-----BEGIN[^-]+-----[^-]+-----END[^-]+-----\n/g,
        ) ?? [];
      return certificate + above.slice(0, -1).join('');
    },

    /** The renewal identifier of the certificate that an order replaces; null if it replaces none. */
    async renewalName({ profile }: Received, { replaces }: AcmeOrderRow): Promise<string | null> {
      const found = replaces && (await store.issuedCertificates.byId(profile.organization_id, replaces));
      const { certificate } = await issuance.authorityOf(profile);
      if (!found || certificate === null) return null;
      const { serial } = stamps.issuedCertificate.believe(found);
      const plain = /^[89a-f]/.test(serial) ? `00${serial}` : serial;
      return [keyIdentifier(certificate), plain]
        .map(hex => Buffer.from(hex, 'hex').toString('base64url'))
        .join('.');
    },

    /** By the account that ordered it, or by whoever has its private key. */
    async revoke(received: Received): Promise<void> {
      const { profile, account, jwk } = received;
      const body = payloadOf(revocationPayload, received.payload);
      const reason = reasons[body.reason ?? 0];
      if (reason === undefined)
        throw new AcmeProblem('badRevocationReason', 'the reason must be 0, 1, 3, 4 or 5');
      const { serial, publicPem } = sentCertificate(body.certificate);
      await retryingStale(async () => {
        const authority = await issuance.authorityOf(profile);
        const found = await store.issuedCertificates.bySerial(authority.id, serial);
        if (found?.profile_id !== profile.id)
          throw new AcmeProblem('malformed', 'the certificate was not issued here');
        const before = stamps.issuedCertificate.believe(found);
        const order = await store.acme.orderOf(before.id);
        const isTheirs = account === null ? publicPemOf(jwk) === publicPem : order?.account_id === account.id;
        if (order === undefined || !isTheirs)
          throw new AcmeProblem('unauthorized', 'the certificate belongs to another account');
        if (before.revoked_at !== null)
          throw new AcmeProblem('alreadyRevoked', 'the certificate was revoked before');
        const row = stamps.issuedCertificate.revise(before, revokedNow(reason, now()), now());
        const { requester_id: id, organization_id: organizationId } = row;
        const actor = { kind: 'access-key', id, name: '', organizationId, origin: received.origin };
        await guard.used(actor, 'issued-certificate.revoked', {
          subjects: [{ ...issuedChange(row), details: { reason } }],
          statements: [store.issuedCertificates.update(row)],
          touches: [row.id],
        });
      });
    },

    /** When a client should renew: in the last third of its life, and at once if it was revoked. */
    async renewalWindow(profile: ProfileRow, named: string): Promise<RenewalWindow> {
      const certificate = await certificateNamed(profile, named);
      if (certificate === null) throw new Failure('NOT_FOUND');
      const { not_before, expires_at, revoked_at } = certificate;
      if (revoked_at !== null)
        return { start: not_before, end: Math.max(revoked_at - 1_000, not_before + 1_000) };
      const life = expires_at - not_before;
      return { start: Math.floor(not_before + (life * 2) / 3), end: Math.floor(not_before + (life * 5) / 6) };
    },
  };
}

function readCsr(bytes: Buffer) {
  try {
    return readRequest(bytes, 'csr');
  } catch (error) {
    throw problemOf(error, 'badCSR');
  }
}

function sentCertificate(text: string) {
  try {
    return serialInCertificate(Buffer.from(text, 'base64url'));
  } catch {
    throw new AcmeProblem('malformed', 'certificate must be DER in base64url');
  }
}

/** What was refused, in the words of ACME. Other errors stay as they are. */
function problemOf(error: unknown, type: 'badCSR' | 'rejectedIdentifier'): unknown {
  if (!(error instanceof Failure)) return error;
  if (error.code === 'INVALID_REQUEST') return new AcmeProblem(type, `${error.field} ${error.reason}`);
  return error.code === 'CONFLICT' && error.reason === ''
    ? new AcmeProblem('unauthorized', error.message)
    : error;
}

export function orderChange({
  id,
  vault_id: vaultId,
  revision,
  names,
  account_id,
}: AcmeOrderRow): SubjectChange {
  const [name = id] = (JSON.parse(names) as string[]).map(text => text.split(' ')[1]!);
  return { type: 'acme-order', id, name, vaultId, revision, details: { account_id } };
}
