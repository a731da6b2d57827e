/**
 * The operations that all kinds of credentials share: find, list, mint, update and revoke. Each change is one
 * transaction with its audit entry; changes to access keys also emit an event.
 */
import type { Action } from '../../access/policy.ts';
import { mintToken } from '../../access/token.ts';
import type { SearchQuery } from '../../contract/common.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import type { Parts } from '../kernel/parts.ts';
import { type Permit, vaultsAsked } from '../kernel/permits.ts';
import { revisedRecords } from '../kernel/revised-records.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { credentialKinds } from './credential.ts';
import {
  boundTo,
  checkLife,
  lifeOf,
  type Maker,
  type NewCredential,
  newFields,
} from './credential-records.ts';
import { restrictionKeysWith } from './restriction-keys.ts';

type Kind = keyof typeof credentialKinds;
export type VaultQuery = SearchQuery & {
  vault_id?: string | undefined;
  key_id?: string | undefined;
  identity_id?: string | undefined;
};

/** The collection whose permissions apply to a kind. */
const plurals = {
  api: 'api-keys',
  vault: 'access-keys',
  pub: 'public-tokens',
  login: 'identities',
} as const;
type Plural<K extends Kind> = (typeof plurals)[K];
type MayWrite<K extends Kind> = Permit<`${Plural<K>}:write`>;

export function credentialsOf<K extends Kind, Item>(
  parts: Parts,
  kind: K,
  present: (row: CredentialRow) => Item,
) {
  const { store, stamps, now, newId } = parts;
  const type = credentialKinds[kind];
  const newRow = newCredentialWith(parts);
  const { list, get, change, revise } = revisedRecords(parts, {
    noun: plurals[kind],
    stamper: stamps.credential,
    byId: (organizationId, id) => store.credentials.living(organizationId, type, id),
    page: (permit, page, query: VaultQuery) => {
      // API keys and secret ids belong to no vault, so a caller restricted to vaults sees none of them.
      const vaultIds = vaultsAsked(permit, query.vault_id);
      if (vaultIds?.length === 0) return null;
      const { organizationId } = permit.caller;
      const { key_id: keyId, identity_id: identityId, q } = query;
      return store.credentials.page({ organizationId, kind: type, vaultIds, keyId, identityId, q }, page);
    },
    present: rows => rows.map(present),
    update: store.credentials.update,
    subject: row => subjectOf(row, type),
    vaultOf: row => row.vault_id,
  });

  const event = (event: EventKind, row: CredentialRow): Statement[] =>
    kind === 'vault' ? [accessKeyEvent(parts, event, row)] : [];

  return {
    list,
    get,

    async mint(permit: MayWrite<K>, wanted: NewCredential): Promise<Item & { token: string }> {
      const { caller } = permit;
      const { expirationDate = caller.until } = wanted;
      checkLife(caller, expirationDate);
      const id = newId();
      const token = mintToken(kind, id);
      const narrowing = { ...wanted.narrowing, ...boundTo(caller) };
      const row = await newRow(kind, caller, id, token, { ...wanted, narrowing, expirationDate });
      const statements = [store.credentials.insert(row), ...event('access_key.created', row)];
      await change(permit, `${type}.created`, row, { lasts: lifeOf(row), statements });
      return { ...present(row), token };
    },

    async revise(
      permit: MayWrite<K>,
      id: string,
      changes: (row: CredentialRow) => Partial<CredentialRow> | Promise<Partial<CredentialRow>>,
    ): Promise<Item> {
      return revise(permit, id, `${type}.updated`, async (before, next) => {
        const row = next(await changes(before));
        const lasts = isOnlyRenamed(before, row) ? 'as before' : lifeOf(row);
        return { row, lasts };
      });
    },

    async revoke(permit: MayWrite<K>, id: string): Promise<void> {
      await revise(permit, id, `${type}.revoked`, async (_, next) => {
        const row = next({ revoked_at: now() });
        const statements = [store.credentials.update(row), ...event('access_key.revoked', row)];
        return { row, lasts: 'as before', statements };
      });
    },
  };
}

/** Returns the row of a new credential, which its token proves. */
export function newCredentialWith(parts: Parts) {
  const { keyring, stamps, now } = parts;
  const restrictionKeys = restrictionKeysWith(parts);
  return async (kind: Kind, maker: Maker, id: string, token: string, wanted: NewCredential, at = now()) => {
    const digest = keyring.tokenDigest(token);
    const fields = { ...newFields(maker, id, wanted, at), kind: credentialKinds[kind], digest };
    const narrowing_key = kind === 'vault' ? await restrictionKeys.sealed(fields, token) : null;
    return stamps.credential.stamp({ ...fields, narrowing_key });
  };
}

function isOnlyRenamed(before: CredentialRow, after: CredentialRow): boolean {
  return (['expiration_date', 'max_uses', 'narrowing'] as const).every(
    column => before[column] === after[column],
  );
}

export function accessKeyEvent(
  { store, stamps, newId }: Pick<Parts, 'store' | 'stamps' | 'newId'>,
  kind: EventKind,
  row: CredentialRow,
): Statement {
  const event = eventOf(kind, { ...row, type: 'access_key' }, row.updated_at, newId);
  return store.outbox.add(stamps.stampEvent(event));
}

export function subjectOf<A extends Action = never>(
  row: MaybeAllowed<CredentialRow, A>,
  type: string,
): SubjectChange<A> {
  const { id, name, vault_id, revision, identity_id } = row;
  const subject = { type, id, name, vaultId: vault_id ?? undefined, revision };
  // It tells the verifier that a secret id was removed with its identity.
  return type === credentialKinds.login ? { ...subject, details: { identity_id } } : subject;
}
