/**
 * Secret ids: they prove an identity where no issuer or authority vouches for the machine. A secret id is minted
 * once, shown once, listed without its secret, expires, and can be limited to a number of logins. Its holder can read
 * what the identity's access keys show, so its creator must be allowed to.
 */
import { invalid } from '../../contract/errors.ts';
import type { CreatedSecretId, SecretId, SecretIdCreate, SecretIdUpdate } from '../../contract/identities.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import { credentialsOf } from '../credentials/credential-changes.ts';
import { changesOf, presentCommon } from '../credentials/credential-records.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { notFoundIn } from '../resources/subject.ts';
import type { Identities } from './identities.ts';

const day = 24 * 3_600_000;
const defaultLife = 30 * day;
const longestLife = 366 * day;

export function secretIdsWith(parts: Parts, identities: Identities) {
  const { now } = parts;
  const { list, get, mint, revise, revoke } = credentialsOf(parts, 'login', presentSecretId);
  const missing = notFoundIn('identity_id', 'is not the id of an identity');

  function checkEnd(until: number | null | undefined): void {
    if (until === null || until! > now() + longestLife)
      throw invalid('expiration_date', 'must be within a year');
  }

  return {
    list,
    get,

    async create(
      permit: Permit<'identities:write'>,
      { identity_id, name, expiration_date, max_uses }: SecretIdCreate,
    ): Promise<CreatedSecretId> {
      const { caller } = permit;
      const identity = await identities.find(permit, identity_id).catch(missing);
      checkEnd(expiration_date);
      const usual = Math.min(now() + defaultLife, caller.until ?? Number.POSITIVE_INFINITY);
      await identities.checkShown(caller, { ...identity, expiration_date: expiration_date ?? usual });
      return mint(permit, {
        name: name ?? identity.name,
        identity: { id: identity.id, revision: null },
        expirationDate: expiration_date ?? usual,
        maxUses: max_uses,
      });
    },

    async update(permit: Permit<'identities:write'>, id: string, update: SecretIdUpdate): Promise<SecretId> {
      const { caller } = permit;
      checkEnd(update.expiration_date);
      return revise(permit, id, async before => {
        await identities.checkShown(caller, await identities.find(permit, before.identity_id!));
        return changesOf(caller, before, update);
      });
    },

    remove: revoke,
  };
}

function presentSecretId(row: CredentialRow): SecretId {
  return {
    ...presentCommon(row),
    identity_id: row.identity_id!,
    max_uses: row.max_uses,
    uses: row.uses,
  };
}
