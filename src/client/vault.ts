/** `vault({ url, key })`: reads the vault of an access key directly each time. Values are plain strings. */
import type { VaultRead, VaultReadNames } from './api.ts';
import { StrongroomError } from './errors.ts';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  json,
  type Receipt,
  segment,
  send,
} from './request.ts';

export interface VaultOptions extends ConnectionOptions {
  /** The vault's id. Optional, because an access key belongs to one vault. */
  readonly vault?: string | undefined;
  /** Called with the receipt of every answer. */
  readonly onReceipt?: ((receipt: Receipt) => void) | undefined;
}

export interface ReadOptions {
  readonly include?: readonly ('keys' | 'certificates')[];
}

export interface Vault {
  /** The vault with all active secrets that the access key can read, in one request. */
  read(options?: ReadOptions): Promise<VaultRead>;
  /** The same without values. */
  names(options?: ReadOptions): Promise<VaultReadNames>;
  /** The value of one secret. Throws `NOT_FOUND` if there is no secret with this name. */
  get(name: string): Promise<string>;
  /** A key or a certificate as PEM, by its id. */
  pem(id: string): Promise<string>;
}

export function vault(options: VaultOptions): Vault {
  const connection = connect(options);
  const path = pathOf(options.vault);
  const ask = async (query: Record<string, string>) => {
    const search = new URLSearchParams(query).toString();
    return send(connection, search === '' ? path : `${path}?${search}`);
  };
  const read = async (query: Record<string, string>, { include = [] }: ReadOptions = {}) =>
    json((await ask(include.length === 0 ? query : { ...query, include: include.join(',') })).text);
  return {
    read: options => read({}, options) as Promise<VaultRead>,
    names: options => read({ secrets: 'names' }, options) as Promise<VaultReadNames>,
    get: async name => valueIn(json((await ask({ name })).text), name),
    pem: async id => pemIn(await ask({ resource: id })),
  };
}

export function pathOf(vault = 'self'): string {
  return `/api/v1/vaults/${segment(vault)}`;
}

function valueIn(secret: unknown, name: string): string {
  const { value } = secret as { value?: unknown };
  if (typeof value === 'string') return value;
  throw new StrongroomError('FORBIDDEN', 'The access key can only read names.', { names: [name] });
}

function pemIn({ type, text }: { readonly type: string; readonly text: string }): string {
  if (type.startsWith('application/x-pem-file')) return text;
  throw new StrongroomError('INVALID_REQUEST', 'The id does not belong to a key or certificate.');
}

/** Reads all values, by name. They are null if nothing has changed since the ETag. */
export async function readIfChanged(connection: Connection, path: string, etag: string | null) {
  const answer = await send(connection, path, { etag });
  if (answer.status === 304) return { etag, values: null };
  const { secrets } = (json(answer.text) ?? {}) as Partial<VaultRead>;
  if (!Array.isArray(secrets))
    throw new StrongroomError('INVALID_ANSWER', 'The answer does not come from a vault.');
  const known = (secrets as VaultRead['secrets']).filter(({ value }) => typeof value === 'string');
  return { etag: answer.etag, values: new Map(known.map(({ name, value }) => [name, value])) };
}
