/**
 * The names that people gave to resources, credentials and other records, within their vault, organization or identity.
 */
import { type RawBuilder, sql } from 'kysely';
import type { Engine } from '../engine/engine.ts';

interface Space {
  readonly from: RawBuilder<unknown>;
  /** The column with the vault, organization or identity within which a name is unique. */
  readonly within: 'vault_id' | 'organization_id' | 'identity_id';
  readonly named?: string;
}

const resource = (type: string) => sql`resources WHERE deleted_at IS NULL AND type = ${sql.lit(type)}`;
const credential = (kind: string) => sql`credentials WHERE revoked_at IS NULL AND kind = ${sql.lit(kind)}`;

/**
 * By the name of the collection. Access keys issued to an identity are left out, because they are not named by people.
 */
const spaces = {
  vaults: { from: resource('vault'), within: 'organization_id' },
  secrets: { from: resource('secret'), within: 'vault_id' },
  keys: { from: resource('key'), within: 'vault_id' },
  certificates: { from: resource('certificate'), within: 'vault_id' },
  'access-keys': { from: sql`${credential('access-key')} AND identity_id IS NULL`, within: 'vault_id' },
  'public-tokens': { from: credential('public-token'), within: 'vault_id' },
  'api-keys': { from: credential('api-key'), within: 'organization_id' },
  'secret-ids': { from: credential('secret-id'), within: 'identity_id' },
  members: { from: sql`members WHERE true`, within: 'organization_id', named: 'email' },
  groups: { from: sql`member_groups WHERE true`, within: 'organization_id' },
  identities: { from: sql`identities WHERE true`, within: 'organization_id' },
  stages: { from: sql`stages WHERE true`, within: 'organization_id' },
  webhooks: { from: sql`webhooks WHERE true`, within: 'organization_id' },
  issuers: { from: sql`issuers WHERE true`, within: 'vault_id' },
  authorities: { from: sql`authorities WHERE true`, within: 'vault_id' },
  profiles: { from: sql`profiles WHERE true`, within: 'vault_id' },
  'use-rules': { from: sql`use_rules WHERE true`, within: 'vault_id' },
} as const satisfies Readonly<Record<string, Space>>;

export type NamedCollection = keyof typeof spaces;
export const namedCollections = Object.keys(spaces) as NamedCollection[];

export function isNamed(collection: string): collection is NamedCollection {
  return Object.hasOwn(spaces, collection);
}

export function spaceOf(collection: NamedCollection): Space['within'] {
  return spaces[collection].within;
}

export function givenNames({ lists }: Engine) {
  return {
    /** The newest existing records. */
    in: async (
      organizationId: string,
      collection: NamedCollection,
      within: string,
      limit: number,
    ): Promise<{ id: string; name: string }[]> => {
      const { from, within: column, named = 'name' }: Space = spaces[collection];
      const found = sql<{ id: string; name: string }>`SELECT id, ${sql.ref(named)} AS name FROM ${from}
        AND organization_id = ${organizationId} AND ${sql.ref(column)} = ${within} ORDER BY id DESC LIMIT ${limit}`;
      return (await found.execute(lists)).rows;
    },
  };
}
