/**
 * The path of the vault endpoint and everything below it. Any spelling of the target that some parser could take for the
 * vault endpoint is treated as a request to it, so that no request is missing from its log.
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../contract/errors.ts';
import { type GrantedOperation, grantedOperations } from '../../contract/use-names.ts';
import { isRead } from '../listener/request.ts';

const prefix = '/api/v1/vaults/';
export const vaultRoute = '/api/v1/vaults/{vault_id}';
/** In place of an id: the vault of the access key. */
const ownVault = 'self';

const spelledOddly = /^(?:[a-z][a-z+.-]*:\/\/[^/?]*)?[/\\.]*api[/\\]+v1[/\\]+vaults(?:[/\\]|%2f|%5c)/i;

export function isBelowVaults(url: string): boolean {
  return url.startsWith(prefix) || spelledOddly.test(url);
}

type RequestLine = Pick<IncomingMessage, 'method' | 'url'>;

/** NOT_FOUND for an unsupported method or unknown path; null if the request is a vault read. */
export function misplaced(request: RequestLine): Failure | null {
  const { method, url = '' } = request;
  if (keySetIn(request) !== null) return null;
  const [id, next, ...further] = segmentsOf(url);
  // A trailing slash leaves one more segment, which is empty.
  const isThere = url.startsWith(prefix) && id !== '' && (next ?? '') === '' && further.length === 0;
  return isRead(method) && isThere ? null : new Failure('NOT_FOUND');
}

/** The operation of a POST below a vault's path, such as `use`; null for anything else. */
export function operationIn(request: RequestLine): string | null {
  if (request.method !== 'POST') return null;
  return segmentsBelow(request)?.join('/') ?? null;
}

/** What follows the vault in the path of a request without a query; null where no vault is named. */
export function segmentsBelow({ url = '' }: RequestLine): string[] | null {
  if (!url.startsWith(prefix) || url.includes('?')) return null;
  const [id, ...below] = segmentsOf(url);
  return id === '' || below.length === 0 ? null : below;
}

/** An operation with a key, which the path names by its name or id: a POST to `keys/{key}/{operation}`. */
export interface KeyOperationPath {
  readonly key: string;
  readonly operation: GrantedOperation;
}

/** Null for any other path, and for a name that is not text in UTF-8. */
export function keyOperationIn(request: RequestLine): KeyOperationPath | null {
  const [, key, operation] = /^keys\/([^/]+)\/([a-z-]+)$/.exec(operationIn(request) ?? '') ?? [];
  const name = key === undefined ? null : decodedName(key);
  const known = grantedOperations.find(one => one === operation);
  return name === null || known === undefined ? null : { key: name, operation: known };
}

/** The key whose public keys a GET of `keys/{key}/jwks.json` asks for; null for any other path. */
export function keySetIn({ method, url = '' }: RequestLine): string | null {
  if (!isRead(method) || !url.startsWith(prefix) || url.includes('?')) return null;
  const [id, ...path] = segmentsOf(url);
  const [, key] = /^keys\/([^/]+)\/jwks\.json$/.exec(path.join('/')) ?? [];
  return id === '' || key === undefined ? null : decodedName(key);
}

function decodedName(segment: string): string | null {
  try {
    return decodeURIComponent(segment).normalize('NFC');
  } catch {
    return null;
  }
}

/** The vault that the path names; null if the access key determines it. */
export function vaultIdIn(url: string): string | null {
  const id = segmentsOf(url)[0]!;
  return id === ownVault ? null : id;
}

function segmentsOf(url: string): string[] {
  return url.split('?')[0]!.replace(spelledOddly, '').split('/');
}
