/**
 * `admin({ url, key })`: the general API with an API key, with one method for each operation of the OpenAPI document.
 * The methods and their types are generated from that document.
 */
import { operations } from './api.ts';
import type { ClientRequest } from './exchange.ts';
import { type ConnectionOptions, connect, json, segment, send } from './request.ts';

/** An operation without required input can be called without an argument. */
type Call<Asked, Answered> =
  Record<never, never> extends Asked
    ? (asked?: Asked) => Promise<Answered>
    : (asked: Asked) => Promise<Answered>;

type Operations = typeof operations;
export type Admin = {
  readonly [Name in keyof Operations]: Call<Operations[Name]['asked'], Operations[Name]['answered']>;
};

interface Asked {
  readonly id?: string;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export function admin(options: ConnectionOptions): Admin {
  const connection = connect(options);
  return operationsOver(async (path, asked) => {
    const { type, text } = await send(connection, path, asked);
    return type.startsWith('application/json') ? json(text) : text;
  });
}

/** The same operations with another function for sending requests, which returns the parsed body. */
export function operationsOver(ask: (path: string, asked: ClientRequest) => Promise<unknown>): Admin {
  const call = (operation: string) => {
    const [method, path] = operation.split(' ') as [string, string];
    return async ({ id, query, body }: Asked = {}) =>
      ask(filled(path, id) + searchOf(query), { method, body });
  };
  const methods = Object.entries(operations).map(([name, operation]) => [name, call(operation)]);
  return Object.fromEntries(methods) as Admin;
}

function filled(path: string, id = ''): string {
  return path.includes('{id}') ? path.replace('{id}', segment(id)) : path;
}

function searchOf(query: Asked['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === '' ? '' : `?${search}`;
}

interface Listed<T> {
  readonly data: readonly T[];
  readonly pagination: { readonly total: number };
}

type Filter<Query> = Omit<NoInfer<Query>, 'page' | 'limit' | 'as_of'>;

/**
 * Yields every record of a list, page by page: `each(api.listSecrets, { query: { vault_id } })`, with the same argument
 * as the operation itself; the filter without `query` also works. Records created in the meantime are left out.
 */
export async function* each<Query extends object, T extends object>(
  list: (asked: { query?: Query }) => Promise<Listed<T>>,
  asked: { readonly query?: Filter<Query> } | Filter<Query> = {},
): AsyncGenerator<T, void, undefined> {
  // No list has a parameter of this name.
  const query = 'query' in asked ? asked.query : asked;
  const limit = 100;
  let newest: string | undefined;
  for (let page = 1; ; page++) {
    const { data } = await list({ query: { ...query, page, limit, as_of: newest } as unknown as Query });
    yield* data;
    if (data.length < limit) return;
    newest ??= (data[0] as { readonly id?: string }).id;
  }
}
