/**
 * What an access key rests on besides its own record: the identity that it was issued to, the API keys it was created
 * with, the member who granted it through OAuth, and the access key it was created with. Authentication asks at every
 * request, from its caches; whoever acts later in the name of an access key asks again, from the store.
 */
import type { Reader } from '../../access/caller.ts';
import type { RefusalReason } from '../../contract/refusals.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import { goodMakers, type KeyLookup, mayLend } from './api-key-callers.ts';
import { type Credential, childReader, restrictedReader, runReader } from './credential.ts';

export interface GroundLookup extends KeyLookup<Credential> {
  identity(id: string): Promise<IdentityRow | undefined>;
}

/** Checks changes since it was issued, outside its own record. */
export async function faultSince(look: GroundLookup, key: Credential): Promise<RefusalReason | null> {
  const { row, narrowing } = key;
  if (row.identity_id !== null && !isGiven(row, await look.identity(row.identity_id)))
    return 'identity_changed';
  if (narrowing.made_with !== undefined && (await goodMakers(look, narrowing)) === null)
    return 'parent_not_valid';
  return narrowing.grant === undefined || (await isStillTheirs(look, key)) ? null : 'member_changed';
}

/** Whether the identity is unchanged since it was issued the access key: it ends with any change. */
export function isGiven({ identity_revision }: CredentialRow, identity: IdentityRow | undefined): boolean {
  return identity !== undefined && identity.revision === identity_revision;
}

/** An access key from OAuth is valid while its member, in the same epoch, could read all that it shows. */
async function isStillTheirs(look: GroundLookup, { row, narrowing }: Credential): Promise<boolean> {
  const { login } = narrowing;
  const holder = await look.holder(login!.member_id);
  return holder !== undefined && mayLend(login!, holder, row.vault_id!, narrowing, look.now());
}

/** A key created with another access key sees what that one sees now; null if that one is not valid. */
export async function readerNow(
  look: Pick<GroundLookup, 'key'>,
  { narrowing, reader, restrictedFrom }: Credential,
  isValid: (parent: Credential) => boolean,
): Promise<Reader | null> {
  const { parent, run_parent, parent_revision } = narrowing;
  const from = parent ?? run_parent;
  if (from === undefined) return reader;
  const made = await look.key(from);
  if (made === undefined || !isValid(made) || made.row.max_uses !== null) return null;
  if (parent_revision !== undefined && made.row.revision !== parent_revision) return null;
  const child = run_parent === undefined ? childReader : runReader;
  if (restrictedFrom === null) return child(reader!, made.reader!);
  return restrictedReader(child(restrictedFrom.reader!, made.reader!), reader!.narrowing!);
}
