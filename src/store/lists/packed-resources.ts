/** Resources as packed by the database: all columns of the rows that a query found, which it names `page`. */
import { type Selectable, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';
import { preparedForms } from '../engine/prepared.ts';
import type { Audited } from '../integrity/audited.ts';
import { columns } from '../integrity/stamp-columns.ts';
import type { ResourceTable, VersionTable } from '../schema/schema.ts';
import { type PackedColumn, packing, unpacker } from './packed-rows.ts';
import { inLivingVault } from './resource-filter.ts';

type WithValue = Selectable<ResourceTable> & Pick<Selectable<VersionTable>, 'value'>;

/** A batch of a vault's resources, oldest first. */
export interface Stretch {
  /** Identical if and only if the rows are. */
  readonly text: string;
  readonly rows: readonly (WithValue & Audited)[];
}

const bytes = new Set(['labels', 'vault_key', 'stamp']);
export const packedResource: readonly PackedColumn[] = [
  ...Object.keys(columns.resources).map(name => ({
    name,
    value: sql.ref(`page.${name}`),
    isBytes: bytes.has(name),
  })),
];
const packedWithValue = [...packedResource, { name: 'value', value: sql.ref('page.value'), isBytes: true }];
const unpack = unpacker<WithValue>(packedWithValue);

interface Given {
  readonly vaultId: string;
  readonly type: string;
  readonly afterId: string | undefined;
  readonly limit: number;
}

/** A vault's resources of one type that are not deleted, with their values. */
export function stretches({ db, name }: Pick<Engine, 'db' | 'name'>) {
  const query = preparedForms((_: null, given: Given) => {
    const found = db
      .selectFrom('resources')
      .leftJoin('versions', join =>
        join
          .onRef('versions.resource_id', '=', 'resources.id')
          .onRef('versions.version', '=', 'resources.version'),
      )
      .selectAll('resources')
      .select('versions.value')
      .where(inLivingVault)
      .where('resources.vault_id', '=', given.vaultId)
      .where('resources.type', '=', given.type)
      .where('resources.deleted_at', 'is', null)
      .orderBy('resources.id')
      .limit(given.limit);
    const page = given.afterId === undefined ? found : found.where('resources.id', '>', given.afterId);
    return db.selectFrom(page.as('page')).select(packing(name, packedWithValue).as('rows')).compile();
  });
  return async (given: Given): Promise<Stretch> => {
    const { rows } = await db.executeQuery(query(null, given));
    const { rows: text } = rows[0]!;
    return { text, rows: unpack(text).sort((a, b) => (a.id < b.id ? -1 : 1)) };
  };
}
