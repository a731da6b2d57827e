/**
 * The path of the vault endpoint and everything below it. Any spelling of the target that some parser could take for the
 * vault endpoint is treated as a request to it, so that no request is missing from its log.
 */
import type { IncomingMessage } from 'node:http';
import { Failure } from '../../contract/errors.ts';
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
export function misplaced({ method, url = '' }: RequestLine): Failure | null {
  const [id, next, ...further] = segmentsOf(url);
  // A trailing slash leaves one more segment, which is empty.
  const isThere = url.startsWith(prefix) && id !== '' && (next ?? '') === '' && further.length === 0;
  return isRead(method) && isThere ? null : new Failure('NOT_FOUND');
}

/** The operation of a POST below a vault's path, such as `use`; null for anything else. */
export function operationIn({ method, url = '' }: RequestLine): string | null {
  if (method !== 'POST' || !url.startsWith(prefix) || url.includes('?')) return null;
  const [id, ...operation] = segmentsOf(url);
  return id === '' || operation.length === 0 ? null : operation.join('/');
}

/** The vault that the path names; null if the access key determines it. */
export function vaultIdIn(url: string): string | null {
  const id = segmentsOf(url)[0]!;
  return id === ownVault ? null : id;
}

function segmentsOf(url: string): string[] {
  return url.split('?')[0]!.replace(spelledOddly, '').split('/');
}
