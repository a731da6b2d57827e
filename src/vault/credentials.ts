/**
 * API keys, vault access keys and public tokens: minted once, shown once, listed without their secret, revoked
 * at once. Nobody mints more than he has: whoever may not see values can't make a key that sees them.
 */
import type { Caller, ResourceKind } from '../access/caller.ts';
import { type Action, holds, type Role } from '../access/policy.ts';
import { mintToken } from '../access/token.ts';
import type {
  AccessKey,
  AccessKeyCreate,
  AccessKeyUpdate,
  ApiKey,
  ApiKeyCreate,
  ApiKeyUpdate,
  PublicToken,
  PublicTokenCreate,
  PublicTokenUpdate,
} from '../contract/access.ts';
import type { SearchQuery } from '../contract/common.ts';
import { Failure } from '../contract/errors.ts';
import type { CredentialFilter, CredentialRow } from '../store/credentials.ts';
import type { Statement } from '../store/engine.ts';
import { credentialKinds, type Narrowing } from './authenticate.ts';
import { type Collection, listOf } from './collection.ts';
import {
  checkGrant,
  grantOf,
  named,
  narrowed,
  presentAccessKey,
  presentApiKey,
  presentPublicToken,
  rename,
} from './credential-records.ts';
import { type EventKind, eventOf } from './events.ts';
import { retryingStale } from './guard.ts';
import type { Parts } from './parts.ts';
import type { Shelf } from './shelf.ts';
import { notFoundAs } from './subject.ts';

type Kind = keyof typeof credentialKinds;
type VaultQuery = SearchQuery & { vault_id?: string | undefined; key_id?: string | undefined };

export type ApiKeys = Collection<ApiKey, ApiKeyCreate, ApiKeyUpdate, SearchQuery>;
export type AccessKeys = Collection<AccessKey, AccessKeyCreate, AccessKeyUpdate, VaultQuery>;
export type PublicTokens = Collection<PublicToken, PublicTokenCreate, PublicTokenUpdate, VaultQuery>;

/** A credential about to be minted. */
interface Mint {
  readonly name: string;
  readonly vaultId?: string;
  readonly keyId?: string;
  readonly role?: Role;
  readonly narrowing?: Narrowing;
  readonly expirationDate?: number | null | undefined;
  readonly maxUses?: number | null | undefined;
}

const plurals = { api: 'api-keys', vault: 'access-keys', pub: 'public-tokens' } as const;
const revealOf: Partial<Record<ResourceKind, Action>> = { secret: 'secrets:reveal', key: 'keys:reveal' };

export interface Credentials {
  readonly apiKeys: ApiKeys;
  readonly accessKeys: AccessKeys;
  readonly publicTokens: PublicTokens;
}

export function credentialsWith(
  { store, keyring, stamps, guard, now, newId }: Parts,
  shelf: Shelf,
): Credentials {
  const action = (kind: Kind, verb: 'read' | 'write'): Action => `${plurals[kind]}:${verb}`;

  async function find(caller: Caller, kind: Kind, id: string): Promise<CredentialRow> {
    const row = await store.credentials.living(caller.organizationId, credentialKinds[kind], id);
    if (row === undefined || !sees(caller, row)) throw new Failure('NOT_FOUND');
    return stamps.credential.believe(row);
  }

  /** API keys lie in no vault: whoever is given some vaults only sees none of them. */
  function sees(caller: Caller, { vault_id }: CredentialRow): boolean {
    return vault_id === null ? caller.vaultIds === null : guard.sees(caller, vault_id);
  }

  async function list<T>(caller: Caller, kind: Kind, query: VaultQuery, present: (row: CredentialRow) => T) {
    await guard.admit(caller, action(kind, 'read'));
    const filter = filterOf(caller, kind, query);
    if (filter === null) return listOf<T>([], 0, query);
    const page = { page: query.page, limit: query.limit, asOf: query.as_of };
    const { rows, total } = await store.credentials.page(filter, page);
    return listOf(
      rows.map(row => present(stamps.credential.believe(row))),
      total,
      query,
    );
  }

  function filterOf(caller: Caller, kind: Kind, query: VaultQuery): CredentialFilter | null {
    const asked = query.vault_id === undefined ? caller.vaultIds : [query.vault_id];
    const vaultIds = asked?.filter(id => guard.sees(caller, id));
    if (vaultIds?.length === 0 || (kind === 'api' && caller.vaultIds !== null)) return null;
    return {
      organizationId: caller.organizationId,
      kind: credentialKinds[kind],
      vaultIds: kind === 'api' ? undefined : vaultIds,
      keyId: query.key_id,
      q: query.q,
    };
  }

  async function mint(
    caller: Caller,
    kind: Kind,
    wanted: Mint,
  ): Promise<{ row: CredentialRow; token: string }> {
    const id = newId();
    const token = mintToken(kind, id);
    const time = now();
    const row = stamps.credential.stamp({
      id,
      organization_id: caller.organizationId,
      kind: credentialKinds[kind],
      ...named(wanted.name),
      digest: keyring.tokenDigest(token),
      vault_id: wanted.vaultId ?? null,
      key_id: wanted.keyId ?? null,
      role: wanted.role ?? null,
      narrowing: JSON.stringify(wanted.narrowing ?? {}),
      expiration_date: wanted.expirationDate ?? null,
      max_uses: wanted.maxUses ?? null,
      created_by: caller.id,
      revoked_at: null,
      created_at: time,
      updated_at: time,
      revision: 1,
      uses: 0,
      last_used_at: null,
    });
    await change(caller, kind, 'created', row, [
      store.credentials.insert(row),
      ...event(kind, 'access_key.created', row),
    ]);
    return { row, token };
  }

  async function revise(
    caller: Caller,
    kind: Kind,
    id: string,
    changes: (row: CredentialRow) => Partial<CredentialRow>,
  ): Promise<CredentialRow> {
    await guard.admit(caller, action(kind, 'write'));
    return retryingStale(async () => {
      const before = await find(caller, kind, id);
      const row = stamps.credential.revise(before, changes(before), now());
      await change(caller, kind, 'updated', row, [store.credentials.update(row)]);
      return row;
    });
  }

  async function revoke(caller: Caller, kind: Kind, id: string): Promise<void> {
    await guard.admit(caller, action(kind, 'write'));
    await retryingStale(async () => {
      const before = await find(caller, kind, id);
      const row = stamps.credential.revise(before, { revoked_at: now() }, now());
      const statements = [store.credentials.update(row), ...event(kind, 'access_key.revoked', row)];
      await change(caller, kind, 'revoked', row, statements);
    });
  }

  async function change(
    caller: Caller,
    kind: Kind,
    verb: string,
    row: CredentialRow,
    statements: Statement[],
  ) {
    const type = credentialKinds[kind];
    await guard.change(caller, action(kind, 'write'), `${type}.${verb}`, {
      subjects: [
        { type, id: row.id, name: row.name, vaultId: row.vault_id ?? undefined, revision: row.revision },
      ],
      statements,
      touches: [row.id],
    });
  }

  /** Only what opens a vault is told of. */
  function event(kind: Kind, event: EventKind, row: CredentialRow): Statement[] {
    if (kind !== 'vault') return [];
    const subject = {
      id: row.id,
      type: 'access_key',
      name: row.name,
      organizationId: row.organization_id,
      vaultId: row.vault_id,
    };
    return [store.outbox.add(stamps.stampEvent(eventOf(event, subject, row.updated_at, newId)))];
  }

  /** An access key gives values away, so its maker must be allowed to see those that it can give. */
  function checkReveal(caller: Caller, narrowing: Narrowing): void {
    const kinds = narrowing.kinds ?? (['secret', 'key'] as const);
    const needed = narrowing.names_only ? [] : kinds.map(kind => revealOf[kind]);
    if (needed.every(reveal => reveal === undefined || holds(caller, reveal))) return;
    throw new Failure('FORBIDDEN', {
      message:
        'An access key can be given no more than its maker has: names_only, or reveal permissions, are missing',
    });
  }

  const apiKeys: ApiKeys = {
    list: (caller, query) => list(caller, 'api', query, presentApiKey),

    async get(caller, id) {
      await guard.admit(caller, 'api-keys:read');
      return presentApiKey(await find(caller, 'api', id));
    },

    async create(caller, { name, role, scopes = null, vault_ids = null, expiration_date }) {
      await guard.admit(caller, 'api-keys:write');
      checkGrant(caller, { role, scopes, vaultIds: vault_ids });
      const missing = new Failure('NOT_FOUND', { field: 'vault_ids', reason: 'names no vault' });
      for (const id of vault_ids ?? []) await shelf.find(caller, 'vault', id).catch(notFoundAs(missing));
      const narrowing = { scopes, vault_ids };
      const { row, token } = await mint(caller, 'api', {
        name,
        role,
        narrowing,
        expirationDate: expiration_date,
      });
      return { ...presentApiKey(row), token };
    },

    async update(caller, id, { name, expiration_date }) {
      const row = await revise(caller, 'api', id, before => {
        checkGrant(caller, grantOf(before));
        return rename(before, name, expiration_date);
      });
      return presentApiKey(row);
    },

    remove: (caller, id) => revoke(caller, 'api', id),
  };

  const accessKeys: AccessKeys = {
    list: (caller, query) => list(caller, 'vault', query, presentAccessKey),

    async get(caller, id) {
      await guard.admit(caller, 'access-keys:read');
      return presentAccessKey(await find(caller, 'vault', id));
    },

    async create(caller, { vault_id, name, expiration_date, max_uses, ...body }) {
      await guard.admit(caller, 'access-keys:write');
      const narrowing = narrowed({}, body);
      checkReveal(caller, narrowing);
      await shelf.openVault(caller, vault_id);
      const { row, token } = await mint(caller, 'vault', {
        name,
        vaultId: vault_id,
        narrowing,
        expirationDate: expiration_date,
        maxUses: max_uses,
      });
      return { ...presentAccessKey(row), token };
    },

    async update(caller, id, { name, expiration_date, max_uses, ...body }) {
      const row = await revise(caller, 'vault', id, before => {
        const narrowing = narrowed(JSON.parse(before.narrowing) as Narrowing, body);
        checkReveal(caller, narrowing);
        return {
          ...rename(before, name, expiration_date),
          max_uses: max_uses === undefined ? before.max_uses : max_uses,
          narrowing: JSON.stringify(narrowing),
        };
      });
      return presentAccessKey(row);
    },

    remove: (caller, id) => revoke(caller, 'vault', id),
  };

  const publicTokens: PublicTokens = {
    list: (caller, query) => list(caller, 'pub', query, presentPublicToken),

    async get(caller, id) {
      await guard.admit(caller, 'public-tokens:read');
      return presentPublicToken(await find(caller, 'pub', id));
    },

    async create(caller, { key_id, name, expiration_date }) {
      await guard.admit(caller, 'public-tokens:write');
      const missing = new Failure('NOT_FOUND', { field: 'key_id', reason: 'names no key' });
      const key = await shelf.find(caller, 'key', key_id).catch(notFoundAs(missing));
      const { row, token } = await mint(caller, 'pub', {
        name: name ?? key.name,
        keyId: key_id,
        vaultId: key.vault_id,
        expirationDate: expiration_date,
      });
      return { ...presentPublicToken(row), token };
    },

    async update(caller, id, { name, expiration_date }) {
      return presentPublicToken(await revise(caller, 'pub', id, row => rename(row, name, expiration_date)));
    },

    remove: (caller, id) => revoke(caller, 'pub', id),
  };

  return { apiKeys, accessKeys, publicTokens };
}
