/** Rows of passkeys: for a new passkey and for one that was just used, with the statements that store them. */
import { publicBytes } from '../../base/bytes.ts';
import type { PasskeyCredential, PasskeyRecord } from '../../contract/auth.ts';
import { iso, isoOrNull } from '../../contract/text.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { PasskeyRow } from '../../store/records/accounts.ts';
import type { Parts } from '../kernel/parts.ts';
import type { SubjectChange } from '../kernel/subjects.ts';
import { type Person, passkeySubject } from '../people/people.ts';
import type { RelatedWrites } from '../sessions/dashboard-sessions.ts';
import type { Challenges } from './challenges.ts';
import type { NewPasskey } from './passkeys.ts';

interface RowParts extends Parts {
  readonly challenges: Challenges;
}

export async function believedPasskey(
  { store, stamps }: Parts,
  credential: PasskeyCredential,
): Promise<PasskeyRow | undefined> {
  const row = await store.accounts.passkeyByCredential(credential.id);
  return row && stamps.passkey.believe(row);
}

/** The row of a new, verified passkey, and the statements that store it. */
export function newPasskey(
  { store, stamps, now, newId, challenges }: RowParts,
  { member }: Pick<Person, 'member'>,
  name: string,
  made: NewPasskey,
): { row: PasskeyRow; subject: SubjectChange; statements: Statement[] } {
  const row = stamps.passkey.create(now(), {
    id: newId(),
    organization_id: member.organization_id,
    member_id: member.id,
    name,
    credential_id: made.credentialId,
    public_key: publicBytes(made.publicKey),
    transports: JSON.stringify(made.transports),
    counter: made.counter,
    used_at: null,
  });
  return {
    row,
    subject: { ...passkeySubject(row, 'passkey.created'), details: { member: row.member_id } },
    statements: [...challenges.use(made.challenge), store.accounts.insertPasskey(row)],
  };
}

/** The writes for a use: they spend the challenge and advance the counter. */
export function passkeyUsed(
  { store, stamps, now, challenges }: RowParts,
  row: PasskeyRow,
  { counter, challenge }: Pick<NewPasskey, 'counter' | 'challenge'>,
): RelatedWrites {
  const used = [...challenges.use(challenge), store.accounts.notePasskeyUse(row.id, now())];
  if (counter === row.counter) return { statements: used };
  const after = stamps.passkey.revise(row, { counter }, now());
  return {
    subjects: [{ ...passkeySubject(after, 'passkey.counted'), details: { member: row.member_id } }],
    statements: [...used, store.accounts.updatePasskey(after)],
  };
}

export function presentPasskey(row: PasskeyRow): PasskeyRecord {
  return { id: row.id, name: row.name, created_at: iso(row.created_at), used_at: isoOrNull(row.used_at) };
}
