/**
 * Requests of ACME clients: their nonces, their signatures, and the accounts that they come from. A nonce is valid for
 * five minutes and once, on all replicas. An account is bound to an access key of the profile's vault, and is good for
 * nothing once that key is revoked, restricted away from the profile, or expired.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Origin } from '../../access/caller.ts';
import { AcmeProblem } from '../../contract/acme.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import {
  type PublicJwk,
  payloadIn,
  publicJwk,
  readSigned,
  type SignedMessage,
  thumbprintOf,
  verifySigned,
} from '../../material/acme-signatures.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { AcmeAccountRow } from '../../store/records/acme.ts';
import type { ProfileRow } from '../../store/records/authorities.ts';
import type { Actor } from '../kernel/guard.ts';
import type { Parts } from '../kernel/parts.ts';
import { acmeIn } from './profiles.ts';

/** A request whose signature was verified. */
export interface Received {
  readonly profile: ProfileRow;
  readonly message: SignedMessage;
  /** Null if the request only reads. */
  readonly payload: unknown;
  readonly jwk: PublicJwk;
  /** Null if it was signed with a key that it carries. */
  readonly account: AcmeAccountRow | null;
  readonly origin: Origin;
}

/** In whose name something is stored, and on what condition. */
export interface Standing {
  readonly actor: Actor;
  readonly statements: readonly Statement[];
  /** When the access key expires. */
  readonly until: number | null;
}

export interface Addressed {
  readonly body: unknown;
  /** As the client should have signed it. */
  readonly url: string;
  /** The address of its directory, without `/directory`. */
  readonly base: string;
  readonly origin: Origin;
}

const nonceLife = 5 * 60_000;
const timeBytes = 6;
const randomLength = 10;
const tagLength = 16;

export type AcmeRequests = ReturnType<typeof acmeRequestsWith>;

export function acmeRequestsWith({ store, stamps, keyring, guard, now }: Parts) {
  const tagOf = (plain: Buffer): Buffer =>
    Buffer.from(keyring.tokenDigest(`acme nonce ${plain.toString('hex')}`).subarray(0, tagLength));

  function newNonce(): string {
    const time = Buffer.alloc(timeBytes);
    time.writeUIntBE(now(), 0, timeBytes);
    const plain = Buffer.concat([time, randomBytes(randomLength)]);
    return Buffer.concat([plain, tagOf(plain)]).toString('base64url');
  }

  async function spendNonce(given: unknown): Promise<void> {
    const bytes = Buffer.from(typeof given === 'string' ? given : '', 'base64url');
    const plain = bytes.subarray(0, timeBytes + randomLength);
    const tag = bytes.subarray(timeBytes + randomLength);
    const isOurs = tag.length === tagLength && timingSafeEqual(tag, tagOf(plain));
    const until = isOurs ? plain.readUIntBE(0, timeBytes) + nonceLife : 0;
    const isNew = until > now() && (await store.acme.spendNonce(`acme ${given}`, until, now()));
    if (!isNew) throw new AcmeProblem('badNonce', 'the nonce is unknown, too old, or was used before');
  }

  /** A profile that is switched on for ACME. Others look like profiles that don't exist. */
  async function profileOf(id: string): Promise<ProfileRow> {
    const found = isId(id) ? await store.profiles.anywhere(id) : undefined;
    if (found === undefined) throw new Failure('NOT_FOUND');
    const profile = stamps.profile.believe(found);
    if (!acmeIn(profile).enabled) throw new Failure('NOT_FOUND');
    const vault = await store.resources.byId(profile.organization_id, profile.vault_id);
    if (vault === undefined || vault.deleted_at !== null) throw new Failure('NOT_FOUND');
    return profile;
  }

  async function accountAt(profile: ProfileRow, kid: unknown, base: string): Promise<AcmeAccountRow> {
    const prefix = `${base}/account/`;
    const id = typeof kid === 'string' && kid.startsWith(prefix) ? kid.slice(prefix.length) : '';
    const found = isId(id) ? await store.acme.account(profile.id, id) : undefined;
    if (found === undefined)
      throw new AcmeProblem('accountDoesNotExist', 'kid names no account of this directory');
    return stamps.acmeAccount.believe(found);
  }

  /** What the access key of an account may still do. Refusals are recorded. */
  async function standing(account: AcmeAccountRow, profile: ProfileRow, origin: Origin): Promise<Standing> {
    const author = { kind: 'access-key', id: account.access_key_id, certifies: profile.name } as const;
    const found = await guard.standing(author, [], profile.vault_id, origin);
    if (found === null) {
      const reason = 'the access key of the account is revoked, expired, or restricted from this profile';
      await refused(account, profile, origin, reason);
      throw new AcmeProblem('unauthorized', reason);
    }
    const { id, name, organizationId, proof } = found.caller;
    const actor: Actor = { kind: 'access-key', id, name, organizationId, origin };
    return { actor, statements: found.statements, until: proof.until };
  }

  /** Records why a client of an account was refused. */
  async function refused(account: AcmeAccountRow, profile: ProfileRow, origin: Origin, reason: string) {
    const { access_key_id: id, organization_id: organizationId } = account;
    const actor: Actor = { kind: 'access-key', id, name: '', organizationId, origin };
    const { id: profileId, name, vault_id: vaultId } = profile;
    await guard.refusedActor(
      actor,
      'acme.refused',
      { type: 'profile', id: profileId, name, vaultId },
      reason,
    );
  }

  /** Verifies a request, by the key of its account or by the key that it carries. */
  async function receive(profile: ProfileRow, addressed: Addressed): Promise<Received> {
    const message = readSigned(addressed.body);
    const { kid, jwk, nonce, url } = message.header;
    if ((kid === undefined) === (jwk === undefined))
      throw new AcmeProblem('malformed', 'the protected header must have either jwk or kid');
    if (message.header.crit !== undefined)
      throw new AcmeProblem('malformed', 'the protected header must have no crit');
    const account = kid === undefined ? null : await accountAt(profile, kid, addressed.base);
    const key = account === null ? publicJwk(jwk) : (JSON.parse(account.jwk) as PublicJwk);
    await verifySigned(message, key);
    if (url !== addressed.url)
      throw new AcmeProblem('unauthorized', 'url in the protected header must be the address of the request');
    await spendNonce(nonce);
    if (account !== null && account.state !== 'valid')
      throw new AcmeProblem('unauthorized', 'the account is deactivated');
    return { profile, message, payload: payloadIn(message), jwk: key, account, origin: addressed.origin };
  }

  return { newNonce, profileOf, receive, standing, refused, thumbprintOf };
}

/** Refuses a request that must come from an account. */
export function accountIn({ account }: Received): AcmeAccountRow {
  if (account === null)
    throw new AcmeProblem('malformed', 'the protected header must have kid instead of jwk');
  return account;
}
