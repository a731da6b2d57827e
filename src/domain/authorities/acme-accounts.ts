/**
 * Accounts of ACME clients. An account is created only with a binding: a signature with a secret that was given out for
 * one access key and one profile. The secret follows from the keyring and both, so nothing is stored for it, and it ends
 * with the access key.
 */

import {
  AcmeProblem,
  accountPayload,
  accountUpdatePayload,
  keyChangePayload,
  payloadOf,
} from '../../contract/acme.ts';
import type { AcmeBinding } from '../../contract/authorities.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import {
  isBoundBy,
  payloadIn,
  publicJwk,
  readSigned,
  thumbprintOf,
  verifySigned,
} from '../../material/acme-signatures.ts';
import type { AcmeAccountRow } from '../../store/records/acme.ts';
import type { ProfileRow } from '../../store/records/authorities.ts';
import type { MinuteCounter } from '../kernel/minute-counter.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { notFoundIn } from '../resources/subject.ts';
import { type AcmeRequests, accountIn, type Received } from './acme-requests.ts';
import { profileChange } from './profiles.ts';

interface Account {
  readonly row: AcmeAccountRow;
  readonly isNew: boolean;
}

export function acmeAccountsWith(parts: Parts, requests: AcmeRequests, attempts: MinuteCounter) {
  const { store, stamps, keyring, guard, now, newId } = parts;

  const secretOf = (profileId: string, accessKeyId: string): Buffer =>
    Buffer.from(keyring.tokenDigest(`acme binding ${profileId} ${accessKeyId}`));

  /** The access key that a binding names, once its signature is verified. */
  async function boundKey({ profile, jwk, origin, message }: Received, given: unknown): Promise<string> {
    if (given === undefined)
      throw new AcmeProblem('externalAccountRequired', 'an account must be bound to an access key (EAB)');
    const wait = attempts.blockedFor(origin.address);
    if (wait > 0)
      throw new AcmeProblem('rateLimited', 'too many failed attempts', {
        headers: { 'retry-after': String(wait) },
      });
    const binding = readSigned(given);
    const { kid, url, nonce } = binding.header;
    if (url !== message.header.url || nonce !== undefined)
      throw new AcmeProblem('malformed', 'the binding must have the url of the request, and no nonce');
    const id = typeof kid === 'string' && isId(kid) ? kid : '';
    if (!isBoundBy(binding, secretOf(profile.id, id))) {
      attempts.add(origin.address);
      throw new AcmeProblem('unauthorized', 'the binding is not signed with the secret of this access key');
    }
    const bound = await thumbprintOf(publicJwk(payloadIn(binding)));
    if (bound !== (await thumbprintOf(jwk)))
      throw new AcmeProblem(
        'malformed',
        'the binding is for another key than the one that signed the request',
      );
    return id;
  }

  async function find(profile: ProfileRow, thumbprint: string): Promise<AcmeAccountRow | null> {
    const found = await store.acme.accountByKey(profile.id, thumbprint);
    return found === undefined ? null : stamps.acmeAccount.believe(found);
  }

  async function keep(
    row: AcmeAccountRow,
    received: Received,
    verb: 'acme-account.updated' | 'acme-account.deactivated',
  ) {
    const { actor, statements } = await requests.standing(row, received.profile, received.origin);
    await guard.used(actor, verb, {
      subjects: [accountChange(row)],
      statements: [...statements, store.acme.updateAccount(row)],
      touches: [row.id],
    });
    return row;
  }

  return {
    /** The secret with which a client binds its account to an access key. */
    async bind(
      permit: Permit<'issued-certificates:write'>,
      id: string,
      accessKeyId: string,
    ): Promise<AcmeBinding> {
      const { caller } = permit;
      const found = await store.profiles.byId(caller.organizationId, id);
      const profile = stamps.profile.believe(await guard.found(permit, found, found?.vault_id));
      const noKey = notFoundIn('access_key_id', 'is not the id of an access key of the profile’s vault');
      const key = await accessKeyOf(profile, accessKeyId).catch(noKey);
      const made = JSON.parse(key.narrowing) as { made_with?: string[] };
      await guard.change(permit, 'profile.bound', {
        subjects: [
          {
            ...profileChange<'issued-certificates:write'>(profile),
            details: { access_key_id: accessKeyId },
            lasts: { until: key.expiration_date, madeWith: made.made_with ?? [] },
          },
        ],
        statements: [],
      });
      return {
        kid: accessKeyId,
        hmac_key: secretOf(id, accessKeyId).toString('base64url'),
        path: `/acme/${id}/directory`,
      };
    },

    async create(received: Received): Promise<Account> {
      const { profile, jwk, origin } = received;
      const payload = payloadOf(accountPayload, received.payload);
      const thumbprint = await thumbprintOf(jwk);
      const known = await find(profile, thumbprint);
      if (known !== null) {
        if (known.state !== 'valid') throw new AcmeProblem('unauthorized', 'the account is deactivated');
        return { row: known, isNew: false };
      }
      if (payload.onlyReturnExisting === true)
        throw new AcmeProblem('accountDoesNotExist', 'there is no account with this key');
      const accessKeyId = await boundKey(received, payload.externalAccountBinding);
      const row = stamps.acmeAccount.create(now(), {
        id: newId(),
        organization_id: profile.organization_id,
        vault_id: profile.vault_id,
        profile_id: profile.id,
        access_key_id: accessKeyId,
        thumbprint,
        jwk: JSON.stringify(jwk),
        contacts: JSON.stringify(payload.contact ?? []),
        state: 'valid',
      });
      const { actor, statements } = await requests.standing(row, profile, origin);
      const at = { table: 'profiles', id: profile.id, revision: profile.revision } as const;
      await guard.used(actor, 'acme-account.created', {
        subjects: [accountChange(row)],
        statements: [...statements, store.conditions.unchanged([at], 'stale'), store.acme.insertAccount(row)],
        touches: [row.id],
      });
      return { row, isNew: true };
    },

    /** Changes the contacts of an account, deactivates it, or only reads it. */
    async update(received: Received): Promise<AcmeAccountRow> {
      const before = accountIn(received);
      if (received.payload === null) return before;
      const { contact, status } = payloadOf(accountUpdatePayload, received.payload);
      if (contact === undefined && status === undefined) return before;
      const state = status ?? before.state;
      const contacts = contact === undefined ? before.contacts : JSON.stringify(contact);
      const row = stamps.acmeAccount.revise(before, { contacts, state }, now());
      return keep(row, received, status === undefined ? 'acme-account.updated' : 'acme-account.deactivated');
    },

    /** Another key for the same account. The new key signs the request for it, too. */
    async changeKey(received: Received, base: string): Promise<AcmeAccountRow> {
      const before = accountIn(received);
      const inner = readSigned(received.payload);
      if (inner.header.url !== received.message.header.url || inner.header.nonce !== undefined)
        throw new AcmeProblem(
          'malformed',
          'the inner signature must have the url of the request, and no nonce',
        );
      const jwk = publicJwk(inner.header.jwk);
      await verifySigned(inner, jwk);
      const { account, oldKey } = payloadOf(keyChangePayload, payloadIn(inner));
      const old = await thumbprintOf(publicJwk(oldKey));
      if (account !== `${base}/account/${before.id}` || old !== before.thumbprint)
        throw new AcmeProblem('malformed', 'the inner payload must name this account and its key');
      const thumbprint = await thumbprintOf(jwk);
      const other = await find(received.profile, thumbprint);
      if (other !== null)
        throw new AcmeProblem('malformed', 'the new key belongs to an account', {
          status: 409,
          headers: { location: `${base}/account/${other.id}` },
        });
      const row = stamps.acmeAccount.revise(before, { thumbprint, jwk: JSON.stringify(jwk) }, now());
      return keep(row, received, 'acme-account.updated');
    },
  };

  async function accessKeyOf(profile: ProfileRow, id: string) {
    const found = await store.credentials.byId(id);
    const key = found && stamps.credential.believe(found);
    const isThere =
      key?.kind === 'access-key' && key.vault_id === profile.vault_id && key.revoked_at === null;
    if (!isThere) throw new Failure('NOT_FOUND');
    return key;
  }
}

export function accountChange({
  id,
  vault_id: vaultId,
  revision,
  access_key_id,
}: AcmeAccountRow): SubjectChange {
  return { type: 'acme-account', id, name: id, vaultId, revision, details: { access_key_id } };
}
