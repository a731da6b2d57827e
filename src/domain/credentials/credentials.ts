/**
 * API keys, vault access keys and public tokens: minted once, shown once, listed without their secret, and revoked
 * immediately. A caller can't mint more than they have: they must be allowed to read what a credential shows, and it
 * ends with the key that created it. A change to what it shows, or for how long, is checked like minting.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import {
  type Action,
  earliest,
  endOfAll,
  grantOfRole,
  shownByAccessKey,
  shownByPublicHalf,
} from '../../access/policy.ts';
import type {
  AccessKey,
  AccessKeyCreate,
  AccessKeyUpdate,
  ApiKey,
  ApiKeyCreate,
  ApiKeyUpdate,
  CreatedAccessKey,
  CreatedApiKey,
  CreatedPublicToken,
  PublicToken,
  PublicTokenCreate,
  PublicTokenUpdate,
} from '../../contract/access.ts';
import type { SearchQuery } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import type { Collection } from '../kernel/collection.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyAttributes } from '../resources/key-attributes.ts';
import type { Records } from '../resources/records.ts';
import { notFoundIn } from '../resources/subject.ts';
import { type Restrictions, shownBy } from './credential.ts';
import { credentialsOf, type VaultQuery } from './credential-changes.ts';
import {
  changesOf,
  checkGrant,
  grantOf,
  presentAccessKey,
  presentApiKey,
  presentPublicToken,
  withRestrictions,
} from './credential-records.ts';

export type ApiKeys = Collection<'api-keys', ApiKey, ApiKeyCreate, ApiKeyUpdate, SearchQuery, CreatedApiKey>;
export type AccessKeys = Collection<
  'access-keys',
  AccessKey,
  AccessKeyCreate,
  AccessKeyUpdate,
  VaultQuery,
  CreatedAccessKey
>;
export type PublicTokens = Collection<
  'public-tokens',
  PublicToken,
  PublicTokenCreate,
  PublicTokenUpdate,
  VaultQuery,
  CreatedPublicToken
>;

export function credentialsWith(parts: Parts, records: Records) {
  const { guard } = parts;
  const api = credentialsOf(parts, 'api', presentApiKey);
  const vault = credentialsOf(parts, 'vault', presentAccessKey);
  const pub = credentialsOf(parts, 'pub', presentPublicToken);

  /** An access key gives access to what it shows, so its creator must be allowed to read all of that. */
  function checkShown(caller: Caller, vaultId: string, narrowing: Restrictions, until: number | null) {
    return guard.mayShow(caller, shownByAccessKey(shownBy(narrowing)), [vaultId], { until });
  }

  const apiKeys: ApiKeys = {
    list: api.list,
    get: api.get,

    async create(permit, { name, role, scopes = null, vault_ids = null, expiration_date }) {
      const { caller } = permit;
      const until = earliest(caller.until, expiration_date ?? null);
      checkGrant(caller, { ...grantOfRole(role, until), scopes, vaultIds: vault_ids });
      await records.checkVaults(permit, vault_ids ?? []);
      const narrowing = { scopes, vault_ids, maker: memberBehind(caller) };
      return api.mint(permit, { name, role, narrowing, expirationDate: expiration_date });
    },

    async update(permit, id, update) {
      const { caller } = permit;
      return api.revise(permit, id, before => {
        const { expiration_date = before.expiration_date } = update;
        checkGrant(caller, grantOf(before, earliest(caller.until, expiration_date)));
        return changesOf(caller, before, update);
      });
    },

    remove: api.revoke,
  };

  const accessKeys: AccessKeys = {
    list: vault.list,
    get: vault.get,

    async create(permit, { vault_id, name, expiration_date, max_uses, ...body }) {
      const { caller } = permit;
      const narrowing = withRestrictions({}, body);
      await records.reopenVault(permit, vault_id);
      const shown = ['access-keys:write', ...shownByAccessKey(shownBy(narrowing))] as const;
      const until = expiration_date === undefined ? longestLife(caller, shown, vault_id) : expiration_date;
      await checkShown(caller, vault_id, narrowing, until);
      return vault.mint(permit, {
        name,
        vaultId: vault_id,
        narrowing,
        expirationDate: until,
        maxUses: max_uses,
      });
    },

    async update(permit, id, { name, expiration_date, max_uses, ...body }) {
      const { caller } = permit;
      return vault.revise(permit, id, async before => {
        const own = JSON.parse(before.narrowing) as Restrictions;
        if (own.parent !== undefined) throw belongsToAnother();
        if (own.grant !== undefined) throw belongsToGrant();
        if (own.run !== undefined) throw belongsToRun();
        const narrowing = withRestrictions(own, body);
        const until = expiration_date === undefined ? before.expiration_date : expiration_date;
        await checkShown(caller, before.vault_id!, narrowing, until);
        return {
          ...changesOf(caller, before, { name, expiration_date, max_uses }),
          narrowing: JSON.stringify(narrowing),
        };
      });
    },

    remove: vault.revoke,
  };

  const publicTokens: PublicTokens = {
    list: pub.list,
    get: pub.get,

    async create(permit, { key_id, name, expiration_date }) {
      const { caller } = permit;
      const missing = notFoundIn('key_id', 'is not the id of a key');
      const key = await records.find(permit, 'key', key_id).catch(missing);
      if (keyAttributes(key).public_pem === '')
        throw invalid('key_id', 'is a symmetric key: it has no public key');
      const shown = ['public-tokens:write', ...shownByPublicHalf] as const;
      const until =
        expiration_date === undefined ? longestLife(caller, shown, key.vault_id) : expiration_date;
      await guard.mayShow(caller, shownByPublicHalf, [key.vault_id], { until });
      return pub.mint(permit, {
        name: name ?? key.name,
        keyId: key_id,
        vaultId: key.vault_id,
        expirationDate: until,
      });
    },

    async update(permit, id, update) {
      const { caller } = permit;
      return pub.revise(permit, id, async before => {
        const { expiration_date: until = before.expiration_date } = update;
        await guard.mayShow(caller, shownByPublicHalf, [before.vault_id!], { until });
        return changesOf(caller, before, update);
      });
    },

    remove: pub.revoke,
  };

  return { apiKeys, accessKeys, publicTokens };
}

/** The end of a credential for which no other is requested: it lasts no longer than what its creator may do there. */
function longestLife(caller: Caller, shown: readonly Action[], vaultId: string): number | null {
  return earliest(caller.until, endOfAll(caller, shown, vaultId));
}

/** Its permissions come from its parent, so a change here would have no effect. */
function belongsToAnother(): Failure {
  return new Failure('CONFLICT', {
    message: 'This access key was created with another one: update that one, or revoke this one',
  });
}

/** A run says what it may do, and until when. */
function belongsToRun(): Failure {
  return new Failure('CONFLICT', {
    message: 'This access key belongs to a run: it can be revoked, but not updated',
  });
}

/** It shows what its member allowed, for as long as they allowed it. */
function belongsToGrant(): Failure {
  return new Failure('CONFLICT', {
    message: 'This access key was issued to a client through OAuth: it can be revoked, but not updated',
  });
}
