/**
 * `admin({ url, key })`: the general API with an API key, one method for each operation of the OpenAPI document. Which
 * there are, what they take and what they answer is generated from that document.
 */
import { type Operations, operations } from './api.ts';
import type { ClientRequest } from './exchange.ts';
import { type ConnectionOptions, connect, json, segment, send } from './request.ts';

/** An operation that needs nothing can be called with nothing. */
type Call<Asked, Answered> =
  Record<never, never> extends Asked
    ? (asked?: Asked) => Promise<Answered>
    : (asked: Asked) => Promise<Answered>;

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

/** The same operations over another way to send a request, which answers with what the body says. */
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
 * Every record of a list, page after page: `each(api.listSecrets, { query: { vault_id } })`, as the operation itself is asked;
 * the filter alone, without `query`, works too. What is created meanwhile is left out.
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
