/**
 * What must not compile. The compiler runs this file (`npm run check`): each line under `@ts-expect-error` that compiles
 * after all is an error, and so is a list that must be empty and names something.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Insertable, Kysely } from 'kysely';
import { type PublicBytes, publicBytes, type Sealed, type Stamp } from '../src/base/bytes.ts';
import type { Keyring, Sealer } from '../src/keyring/keyring.ts';
import type { RevisedTable } from '../src/store/integrity/audited.ts';
import { columns } from '../src/store/integrity/stamp-columns.ts';
import type { TableColumns } from '../src/store/integrity/stamp-treatments.ts';
import type { StampedTable } from '../src/store/integrity/stamped-rows.ts';
import type { VersionRow } from '../src/store/records/resources.ts';
import type { Schema } from '../src/store/schema/schema.ts';
import type { Store } from '../src/store/store.ts';

type TableName = keyof Schema;
/** Compiles for `never` alone; otherwise the compiler names what should not be there. */
type None<Found extends never> = Found;
/** The columns of all tables in which a value of this type can be stored. */
type Taking<Value> = {
  [T in TableName]: {
    [C in keyof Insertable<Schema[T]> & string]: Value extends Insertable<Schema[T]>[C] ? `${T}.${C}` : never;
  }[keyof Insertable<Schema[T]> & string];
}[TableName];
type TablesWith<Column extends string> = {
  [T in TableName]: Column extends keyof Schema[T] ? T : never;
}[TableName];

/** Never run: what it says is for the compiler. */
export function refused(
  db: Kysely<Schema>,
  store: Store,
  keyring: Keyring,
  sealer: Sealer,
  version: VersionRow,
) {
  const place = { type: 'secret', resource: '', field: 'value', version: 1 };
  const open = sealer.open(place, version.value);
  const inPlace = { ...version, value: sealer.seal(place, open) } satisfies VersionRow;

  // @ts-expect-error: the value as it was opened.
  store.resources.insertVersion({ ...version, value: open });
  // @ts-expect-error: bytes of which nothing is known.
  store.resources.insertVersion({ ...version, value: new Uint8Array(open) });
  // @ts-expect-error: the builder takes no others either.
  db.insertInto('versions').values({ ...inPlace, value: open });
  // @ts-expect-error: nor to change a row.
  db.updateTable('webhooks').set({ secret: open });
  // @ts-expect-error: a digest is not sealed, and does not open.
  db.updateTable('accounts').set({ totp: keyring.tokenDigest('') });
  // @ts-expect-error: what is sealed is no stamp.
  db.updateTable('resources').set({ stamp: inPlace.value });
  // @ts-expect-error: a token in place of its digest.
  db.updateTable('credentials').set({ digest: Buffer.from('') });
  // @ts-expect-error: a keyring that no root key wraps.
  store.terms.setKeyringOnce(open);
  // @ts-expect-error: nor where many rows are inserted.
  store.logs.appendAudits([{ id: '', writer: '', seq: 1, hash: '', mark: '', entry: open }]);
  return inPlace;
}

/** Open bytes fit no column at all, and public ones only those that are meant for them. */
export type Nowhere = None<Taking<Uint8Array> | Taking<Buffer>>;
export type PublicColumns = None<
  Exclude<Taking<PublicBytes>, 'meta.value' | 'passkeys.public_key' | 'checkpoints.signature'>
>;
export type Stamps = None<Exclude<Taking<Stamp>, `${string}.stamp`>>;
/** The other way round: these are the sealed ones. */
export const sealedColumns = {
  'meta.value': true,
  'resources.labels': true,
  'resources.vault_key': true,
  'versions.value': true,
  'kept_answers.sealed': true,
  'webhooks.secret': true,
  'webhooks.previous_secret': true,
  'approvals.request': true,
  'proposals.content': true,
  'issuers.content': true,
  'authorities.key': true,
  'rotations.content': true,
  'credentials.narrowing_key': true,
  'accounts.totp': true,
  'accounts.totp_pending': true,
  'mails.content': true,
} as const satisfies Record<Taking<Sealed>, true>;

interface WithNewColumn extends Omit<Schema, 'members'> {
  members: Schema['members'] & { nickname: string };
}
interface WithNewTable extends Schema {
  invoices: { id: string };
}
// @ts-expect-error: nobody decided what holds members.nickname.
export const undecidedColumn: TableColumns<WithNewColumn> = columns;
// @ts-expect-error: nor what holds any column of invoices.
export const undecidedTable: TableColumns<WithNewTable> = columns;
export const unexplained: TableColumns['unfiled'] = {
  writer: 'stamped',
  // @ts-expect-error: an exemption says why.
  from_id: { exempt: undefined },
};
/** A column that is declared and does not exist. */
export type Strange = None<
  { [T in TableName]: Exclude<keyof (typeof columns)[T], keyof Schema[T]> }[TableName]
>;
/** Every table with a stamp is verified, and every one with a revision is held against the audit log. */
export type Unverified = None<Exclude<TablesWith<'stamp'>, StampedTable>>;
export type Unaudited = None<Exclude<TablesWith<'revision'>, RevisedTable>>;

describe('what the compiler holds', () => {
  it('public bytes are the same bytes, by another name', () => {
    const bytes = Buffer.from('public');
    assert.equal(publicBytes(bytes), bytes);
  });

  it('every sealed column of a row that is stamped is held by the stamp, or by its encryption', () => {
    for (const name of Object.keys(sealedColumns)) {
      const [table, column] = name.split('.') as [keyof typeof columns, string];
      const how = (columns[table] as Readonly<Record<string, unknown>>)[column];
      const isLater = typeof how === 'object' && ('since' in how! || 'sealedStamped' in how!);
      assert.ok(how === 'stamped' || how === 'sealed' || isLater, name);
    }
  });
});
