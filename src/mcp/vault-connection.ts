/**
 * Determines the vault and the key of a call: from the `vault` argument, then `credentials`, then the request's
 * `Authorization` header. Two that disagree are an error, because one of them is a mistake. A `baseUrl` is compared with
 * our own addresses and never connected to.
 */
import { check } from '../contract/check.ts';
import { invalid } from '../contract/errors.ts';
import { type Connection, onlyConnections as connections } from '../contract/tools.ts';

export interface ConnectionSources {
  readonly vault?: unknown;
  readonly credentials?: unknown;
  /** The token of the request's header. */
  readonly header: string | null;
  readonly isOurs: (url: string) => boolean;
}

export function connectionOf({ vault, credentials, header, isOurs }: ConnectionSources) {
  if (vault === undefined && credentials === undefined) return { token: header, vaultId: null };
  const sent = check(connections, { vault, credentials });
  const first: Connection = sent.vault ?? {};
  const second: Connection = sent.credentials ?? {};
  for (const [name, { baseUrl }] of [['vault', first] as const, ['credentials', second] as const]) {
    if (baseUrl !== undefined && !isOurs(baseUrl)) {
      throw invalid(`${name}.baseUrl`, 'must be the address of this service');
    }
  }
  return {
    token: agreed('accessKey', first.accessKey, second.accessKey, header ?? undefined),
    vaultId: agreed('vaultId', first.vaultId ?? first.id, second.vaultId),
  };
}

function agreed(field: string, ...given: readonly (string | undefined)[]): string | null {
  const [value = null, ...others] = given.filter(one => one !== undefined);
  if (others.some(other => other !== value)) {
    throw invalid(field, 'must be the same in vault, in credentials and in the Authorization header');
  }
  return value;
}
