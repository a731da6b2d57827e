/** The resources of a service as one list of the same fields, whatever their type, for commands that list them. */
import type { Certificate, Key, Secret } from '../../client/api.ts';
import { type Admin, listed } from './admin.ts';
import { RefusedRequest } from './remote.ts';

export const resourceTypes = ['secret', 'key', 'certificate'] as const;
export type ResourceType = (typeof resourceTypes)[number];

export interface ListedResource {
  readonly type: ResourceType;
  readonly id: string;
  readonly name: string;
  readonly vault_id: string;
  readonly version: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly created_at: string;
  readonly updated_at: string;
  readonly expires_at: string | null;
}

interface Query {
  readonly q?: string;
  readonly tag?: string;
  readonly vault_id?: string;
  readonly state?: 'deleted';
}

function listOf(admin: Admin, type: ResourceType, query: Query): Promise<(Secret | Key | Certificate)[]> {
  if (type === 'secret') return listed(admin.listSecrets, query);
  return type === 'key' ? listed(admin.listKeys, query) : listed(admin.listCertificates, query);
}

/** Types that the caller may not list are left out; if there is no other, the refusal is thrown. */
export async function resourcesOf(
  admin: Admin,
  types: readonly ResourceType[],
  query: Query,
): Promise<ListedResource[]> {
  const refusals: RefusedRequest[] = [];
  const found = await Promise.all(
    types.map(async type => {
      try {
        return (await listOf(admin, type, query)).map(one => shown(type, one));
      } catch (error) {
        if (!(error instanceof RefusedRequest && error.status === 403)) throw error;
        refusals.push(error);
        return [];
      }
    }),
  );
  if (refusals.length === types.length) throw refusals[0]!;
  return found.flat();
}

function shown(type: ResourceType, one: Secret | Key | Certificate): ListedResource {
  const { id, name, vault_id, version, tags, created_at, updated_at } = one;
  const expires_at = 'expires_at' in one && type === 'certificate' ? one.expires_at : expiryOf(one);
  return { type, id, name, vault_id, version, tags, created_at, updated_at, expires_at };
}

function expiryOf(one: Secret | Key | Certificate): string | null {
  return 'expiration_date' in one ? one.expiration_date : null;
}

/** By the code units of their names, which is the same everywhere. */
export function byName<T extends { readonly name: string }>(all: readonly T[]): T[] {
  return [...all].sort((a, b) => (a.name < b.name ? -1 : 1));
}
