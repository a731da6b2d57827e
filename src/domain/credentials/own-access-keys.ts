/**
 * What an access key can do with access keys, without an API key: create temporary children, and revoke itself. A
 * child sees what its parent currently sees, from the addresses where its parent may be used, shares its rate limit,
 * and is invalid once its parent is. Children cannot create children. Neither can a key with a limited number of
 * uses, because those of its children would not be counted. A key restricted by its holder can do neither: a child
 * would not be restricted, and revoking would affect the access key it is derived from.
 */
import type { Origin, Reader } from '../../access/caller.ts';
import { mintToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Authenticator } from './authentication.ts';
import { credentialKinds, isUsable, type Restrictions } from './credential.ts';
import { accessKeyEvent, newCredentialWith, subjectOf } from './credential-changes.ts';

export interface NewChild {
  readonly name: string;
  /** In milliseconds. It ends with its parent at the latest. */
  readonly lifetime: number;
  readonly maxUses: number | null;
}

export interface OwnAccessKeyParts extends Parts {
  readonly authenticate: Authenticator;
}

const kind = credentialKinds.vault;
/** Usable children per parent. */
const mostChildren = 100;
/** Expired children are removed when the next one is created, after a period in which a refusal can still say why. */
const keptAfter = 24 * 3_600_000;
const mostForgotten = 200;

export function ownAccessKeysWith(parts: OwnAccessKeyParts) {
  const { store, stamps, guard, authenticate, now, newId } = parts;
  const newRow = newCredentialWith(parts);

  async function wholeKey(token: string | null, origin: Origin): Promise<Reader> {
    const reader = await authenticate.accessKeyAnywhere(token, origin);
    if (reader.narrowing !== null) throw restrictedKey();
    return reader;
  }

  /** The record as it is now; changes to it depend on its revision. */
  async function recordOf(reader: Reader): Promise<CredentialRow> {
    const found = await store.credentials.byId(reader.id);
    const row = found && stamps.credential.believe(found);
    if (row === undefined || !isUsable(row, now())) throw new Failure('UNAUTHORIZED');
    return row;
  }

  async function checkParent(row: CredentialRow): Promise<void> {
    const { parent, run } = JSON.parse(row.narrowing) as Restrictions;
    if (parent !== undefined || run !== undefined || row.max_uses !== null) throw new Failure('FORBIDDEN');
    const living = await store.credentials.madeBy([row.id], now(), mostChildren);
    if (living.map(stamps.credential.believe).length >= mostChildren) throw tooMany();
  }

  async function newChild(parent: CredentialRow, { name, lifetime, maxUses }: NewChild) {
    const id = newId();
    const token = mintToken('vault', id);
    const expirationDate = Math.min(now() + lifetime, parent.expiration_date ?? Number.POSITIVE_INFINITY);
    const maker = { id: parent.id, organizationId: parent.organization_id };
    const own = JSON.parse(parent.narrowing) as Restrictions;
    const refreshed = own.grant === undefined ? {} : { parent_revision: parent.revision };
    const narrowing = { ...own, parent: parent.id, ...refreshed };
    // An access key issued to an identity ends with any change to it, and so do its children.
    const identity = { id: parent.identity_id, revision: parent.identity_revision };
    const wanted = { name, vaultId: parent.vault_id!, narrowing, expirationDate, maxUses, identity };
    const row = await newRow('vault', maker, id, token, wanted);
    return { row, created: { id, name, token, expiresAt: expirationDate, maxUses } };
  }

  return {
    createChild: async (token: string | null, origin: Origin, wanted: NewChild) => {
      const reader = await wholeKey(token, origin);
      return retryingStale(async () => {
        const parent = await recordOf(reader);
        await checkParent(parent);
        const { row, created } = await newChild(parent, wanted);
        const at = { table: 'credentials', id: parent.id, revision: parent.revision } as const;
        await guard.used({ ...reader, origin }, `${kind}.created`, {
          subjects: [{ ...subjectOf(row, kind), details: { parent: parent.id } }],
          statements: [
            store.conditions.unchanged([at], 'stale'),
            store.credentials.forgetMadeBy(parent.id, now() - keptAfter, mostForgotten),
            store.credentials.insert(row),
            accessKeyEvent(parts, 'access_key.created', row),
          ],
          touches: [row.id],
        });
        return created;
      });
    },

    revokeItself: async (token: string | null, origin: Origin): Promise<void> => {
      const reader = await wholeKey(token, origin);
      await retryingStale(async () => {
        const row = stamps.credential.revise(await recordOf(reader), { revoked_at: now() }, now());
        await guard.used({ ...reader, origin }, `${kind}.revoked`, {
          subjects: [subjectOf(row, kind)],
          statements: [store.credentials.update(row), accessKeyEvent(parts, 'access_key.revoked', row)],
          touches: [row.id],
        });
      });
    },
  };
}

function restrictedKey(): Failure {
  return new Failure('FORBIDDEN', {
    message: 'Forbidden: an access key restricted by its holder can’t create or revoke access keys',
  });
}

function tooMany(): Failure {
  return new Failure('CONFLICT', {
    message: `An access key can have at most ${mostChildren} children at a time: revoke some, or let them expire`,
  });
}
