/**
 * The operations that all kinds of credentials share: find, list, mint, update and revoke. Each change is one
 * transaction with its audit entry; changes to access keys also emit an event.
 */

import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';
import { mintToken } from '../../access/token.ts';
import type { SearchQuery } from '../../contract/common.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { CredentialFilter, CredentialRow } from '../../store/records/credentials.ts';
import { listOf } from '../kernel/collection.ts';
import { type EventKind, eventOf } from '../kernel/events.ts';
import { type Permit, vaultsAsked } from '../kernel/guard.ts';
import type { Lasts } from '../kernel/lasting.ts';
import type { Parts } from '../kernel/parts.ts';
import { retryingStale } from '../kernel/stale-changes.ts';
import type { MaybeAllowed, SubjectChange } from '../kernel/subjects.ts';
import { credentialKinds } from './credential.ts';
import { boundTo, checkLife, lifeOf, type NewCredential, newFields } from './credential-records.ts';
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

export function credentialChangesWith(parts: Parts) {
  const { store, keyring, stamps, guard, now, newId } = parts;
  const restrictionKeys = restrictionKeysWith(parts);
  const mayRead = <K extends Kind>(caller: Caller, kind: K) =>
    guard.admit(caller, `${plurals[kind]}:read` as `${Plural<K>}:read`);
  const mayWrite = <K extends Kind>(caller: Caller, kind: K): Promise<MayWrite<K>> =>
    guard.admit(caller, `${plurals[kind]}:write` as `${Plural<K>}:write`);

  /** API keys and secret ids belong to no vault, so a caller restricted to vaults sees none of them. */
  async function find<A extends Action>(permit: Permit<A>, kind: Kind, id: string) {
    const { organizationId } = permit.caller;
    const row = await store.credentials.living(organizationId, credentialKinds[kind], id);
    return stamps.credential.believe(await guard.found(permit, row, row?.vault_id));
  }

  async function get<T>(caller: Caller, kind: Kind, id: string, present: (row: CredentialRow) => T) {
    return present(await find(await mayRead(caller, kind), kind, id));
  }

  async function list<T>(caller: Caller, kind: Kind, query: VaultQuery, present: (row: CredentialRow) => T) {
    const filter = filterOf(await mayRead(caller, kind), kind, query);
    if (filter === null) return listOf<T>([], 0, query);
    const page = { page: query.page, limit: query.limit, asOf: query.as_of };
    const { rows, total } = await store.credentials.page(filter, page);
    return listOf(
      rows.map(row => present(stamps.credential.believe(row))),
      total,
      query,
    );
  }

  function filterOf(permit: Permit, kind: Kind, query: VaultQuery): CredentialFilter | null {
    // API keys and secret ids belong to no vault, so none of them matches.
    const vaultIds = vaultsAsked(permit, query.vault_id);
    if (vaultIds?.length === 0) return null;
    return {
      organizationId: permit.caller.organizationId,
      kind: credentialKinds[kind],
      vaultIds,
      keyId: query.key_id,
      identityId: query.identity_id,
      q: query.q,
    };
  }

  async function mint<K extends Kind>(
    permit: NoInfer<MayWrite<K>>,
    kind: K,
    wanted: NewCredential,
  ): Promise<{ row: CredentialRow; token: string }> {
    const { caller } = permit;
    const { expirationDate = caller.until } = wanted;
    checkLife(caller, expirationDate);
    const id = newId();
    const token = mintToken(kind, id);
    const narrowing = { ...wanted.narrowing, ...boundTo(caller) };
    const fields = newFields(caller, id, { ...wanted, narrowing, expirationDate }, now());
    const keyed = { ...fields, digest: keyring.tokenDigest(token) };
    const narrowing_key = kind === 'vault' ? await restrictionKeys.sealed(keyed, token) : null;
    const row = stamps.credential.stamp({ ...keyed, kind: credentialKinds[kind], narrowing_key });
    await change(permit, kind, 'created', row, lifeOf(row), [
      store.credentials.insert(row),
      ...event(kind, 'access_key.created', row),
    ]);
    return { row, token };
  }

  async function revise(
    caller: Caller,
    kind: Kind,
    id: string,
    changes: (row: CredentialRow) => Partial<CredentialRow> | Promise<Partial<CredentialRow>>,
  ): Promise<CredentialRow> {
    const permit = await mayWrite(caller, kind);
    return retryingStale(async () => {
      const before = await find(permit, kind, id);
      const row = stamps.credential.revise(before, await changes(before), now());
      const lasts = isOnlyRenamed(before, row) ? 'as before' : lifeOf(row);
      await change(permit, kind, 'updated', row, lasts, [store.credentials.update(row)]);
      return row;
    });
  }

  async function revoke(caller: Caller, kind: Kind, id: string): Promise<void> {
    const permit = await mayWrite(caller, kind);
    await retryingStale(async () => {
      const before = await find(permit, kind, id);
      const row = stamps.credential.revise(before, { revoked_at: now() }, now());
      const statements = [store.credentials.update(row), ...event(kind, 'access_key.revoked', row)];
      await change(permit, kind, 'revoked', row, 'as before', statements);
    });
  }

  async function change<K extends Kind>(
    permit: NoInfer<MayWrite<K>>,
    kind: K,
    done: 'created' | 'updated' | 'revoked',
    row: MaybeAllowed<CredentialRow, `${Plural<K>}:write`>,
    lasts: Lasts,
    statements: Statement[],
  ) {
    const type = credentialKinds[kind];
    await guard.change(permit, `${type}.${done}`, {
      subjects: [{ ...subjectOf(row, type), lasts }],
      statements,
      touches: [row.id],
    });
  }

  /** Only access keys emit events. */
  function event(kind: Kind, event: EventKind, row: CredentialRow): Statement[] {
    return kind === 'vault' ? [accessKeyEvent({ store, stamps, newId }, event, row)] : [];
  }

  return { mayWrite, get, list, mint, revise, revoke };
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
  const subject = {
    id: row.id,
    type: 'access_key',
    name: row.name,
    organizationId: row.organization_id,
    vaultId: row.vault_id,
  };
  return store.outbox.add(stamps.stampEvent(eventOf(kind, subject, row.updated_at, newId)));
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
