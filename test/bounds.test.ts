/**
 * Bounds: every one that the API's document declares for a field of a body or for a parameter is gone one past, and the
 * refusal names the field and the bound; at the bound itself nothing is refused for it. The numbers themselves are those
 * of test/schema-bounds.json. Bounds that the sources declare as constants are in test/bounds.json, each with the test
 * that goes one past it; `npm run mutate -- --bounds` proves that these tests do.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allBounds, boundsOf, loadTable, loosened, type Table, tableFaults } from '../scripts/bounds.ts';
import { faultsOf } from '../scripts/mutations.ts';
import { Document, type Json, type Operation } from './document.ts';
import { type Service, startService } from './harness.ts';
import schemaBounds from './schema-bounds.json' with { type: 'json' };

interface Bound {
  readonly operation: Operation;
  /** Of the field, in the body; or of the parameter. */
  readonly path: readonly string[];
  readonly rule: string;
  readonly inQuery: boolean;
  readonly at: unknown;
  readonly past: unknown;
  /** The objects on the way to the field. */
  readonly levels: readonly Level[];
}

interface Level {
  readonly path: readonly string[];
  readonly schema: Json;
  /** One of several that could stand there. */
  readonly isForm: boolean;
}

const nothing = '01999999-9999-7999-8999-999999999999';
const idAt = (at: number) => `01999999-9999-7999-8999-${String(at).padStart(12, '0')}`;

/** Values at a bound and one past it, for each kind of bound that a schema can have. */
function valuesOf(schema: Json, resolve: (schema: Json) => Json): (readonly [string, unknown, unknown])[] {
  const found: (readonly [string, unknown, unknown])[] = [];
  const { maxLength, minLength, maximum, minimum, maxItems, minItems, maxProperties } = schema;
  const text = (length: number) => 'a'.repeat(length);
  const list = (length: number) => Array.from({ length }, (_, at) => itemAt(resolve(schema.items ?? {}), at));
  const member = schema.additionalProperties ? minimal(schema.additionalProperties, resolve) : 'x';
  const map = (size: number) =>
    Object.fromEntries(Array.from({ length: size }, (_, at) => [`member-${at}`, member]));
  if (maxLength !== undefined) found.push(['maxLength', text(maxLength), text(maxLength + 1)]);
  if (minLength > 0) found.push(['minLength', text(minLength), text(minLength - 1)]);
  if (maximum < Number.MAX_SAFE_INTEGER) found.push(['maximum', maximum, maximum + 1]);
  if (minimum > Number.MIN_SAFE_INTEGER) found.push(['minimum', minimum, minimum - 1]);
  if (maxItems !== undefined) found.push(['maxItems', list(maxItems), list(maxItems + 1)]);
  if (minItems > 0) found.push(['minItems', list(minItems), list(minItems - 1)]);
  if (maxProperties !== undefined) found.push(['maxProperties', map(maxProperties), map(maxProperties + 1)]);
  return found;
}

/** Something that a list may contain, another for each place. */
function itemAt(schema: Json, at: number): unknown {
  if (schema.format === 'uuid') return idAt(at);
  if (schema.enum !== undefined) return schema.enum[at % schema.enum.length];
  if (schema.type === 'object') return { ...schema.example };
  if (schema.type === 'integer') return at + 1;
  return schema.example === undefined ? `item-${at}` : `${schema.example}${at}`;
}

/** The least that a schema takes. */
function minimal(schema: Json, resolve: (schema: Json) => Json): Json {
  const plain = resolve(schema);
  const form = plain.anyOf?.[0] ?? plain.oneOf?.[0];
  const text = plain.type === 'string' ? plain.examples?.[0] : undefined;
  const known = plain.const ?? plain.enum?.[0] ?? plain.example ?? text;
  if (known !== undefined) return known;
  if (form !== undefined) return minimal(form, resolve);
  if (plain.type === 'object')
    return Object.fromEntries(
      ((plain.required ?? []) as string[]).map(name => [name, minimal(plain.properties[name], resolve)]),
    );
  if (plain.type === 'array') return plain.minItems > 0 ? [minimal(plain.items, resolve)] : [];
  return plain.format === undefined && plain.type === 'string' ? 'text' : itemAt(plain, 1);
}

const valueAt = (body: Json, path: readonly string[]) => path.reduce((value, name) => value?.[name], body);

function withValue(body: Json, [first, ...rest]: readonly string[], value: unknown): Json {
  if (first === undefined) return value;
  const copy = Array.isArray(body) ? [...body] : { ...body };
  copy[first] = withValue(copy[first] ?? (rest[0] === '0' ? [] : {}), rest, value);
  return copy;
}

function boundsIn(operation: Operation, resolve: (schema: Json) => Json): Bound[] {
  const inSchema = (
    schema: Json,
    path: readonly string[],
    levels: readonly Level[],
    isForm = false,
  ): Bound[] => {
    const plain = resolve(schema);
    if (plain === undefined || levels.length > 6) return [];
    const forms = [...(plain.anyOf ?? []), ...(plain.oneOf ?? []), ...(plain.allOf ?? [])];
    const within = [...levels, { path, schema: plain, isForm }];
    return [
      ...(path.length === 0 ? [] : at(plain, path, false, levels)),
      ...forms.flatMap(form => inSchema(form, path, within, true)),
      ...Object.entries(plain.properties ?? {}).flatMap(([name, member]) =>
        inSchema(member, [...path, name], within),
      ),
      ...(plain.items === undefined ? [] : inSchema(plain.items, [...path, '0'], within)),
    ];
  };
  const at = (schema: Json, path: readonly string[], inQuery: boolean, levels: readonly Level[]) =>
    valuesOf(schema, resolve).map(([rule, least, past]) => ({
      operation,
      path,
      rule,
      inQuery,
      at: least,
      past,
      levels,
    }));
  const parameters = ((operation.value.parameters ?? []) as Json[]).map(resolve);
  return [
    ...inSchema(operation.value.requestBody?.content['application/json']?.schema, [], []),
    ...parameters
      .filter(({ in: place }) => place === 'query')
      .flatMap(({ name, schema }) => at(resolve(schema), [name as string], true, [])),
  ];
}

function numberOf({ at }: Bound): number {
  if (typeof at === 'number') return at;
  return typeof at === 'string' ? at.length : Object.keys(at as object).length;
}

describe('every bound that the API declares', () => {
  let service: Service;
  let bounds: Bound[];
  let resolve: (schema: Json) => Json;

  before(async () => {
    service = await startService({});
    const document = await Document.of(service);
    resolve = schema => document.resolve(schema);
    bounds = document.operations('/').flatMap(operation => boundsIn(operation, resolve));
  });
  after(() => service.stop());

  interface Said {
    readonly status: number;
    /** What is said about the field; null where it is not to blame. */
    readonly reason: string | null;
  }

  /** The operation's example, with what the field needs around it. */
  function bodyAround({ operation, levels }: Bound): Json {
    const example = operation.value.requestBody?.content['application/json'].example ?? {};
    return levels.reduce((body, { path, schema, isForm }) => {
      const isThere = valueAt(body, path) !== undefined && !isForm;
      return isThere || schema.type !== 'object'
        ? body
        : withValue(body, path, minimal({ ...schema, example: undefined }, resolve));
    }, example);
  }

  async function saidOf(bound: Bound, value: unknown): Promise<Said> {
    const { operation, path, inQuery } = bound;
    const target = operation.path.replaceAll(/\{\w+\}/g, nothing);
    const answer = inQuery
      ? await service.call(operation.method, `${target}?${path[0]}=${encodeURIComponent(String(value))}`)
      : await service.call(operation.method, target, withValue(bodyAround(bound), path, value));
    if (answer.status !== 400) return { status: answer.status, reason: null };
    const { field, reason } = answer.body.error.details as { field: string; reason: string };
    const dotted = path.join('.');
    const isNamed = field !== '' && (dotted.startsWith(field) || field.startsWith(dotted));
    return { status: 400, reason: isNamed ? reason : null };
  }

  it('is refused one past it, by the name of the field, and not at it', async () => {
    const own = bounds.filter(({ operation }) => operation.path.startsWith('/v1/'));
    assert.ok(own.length > 300, `${own.length} bounds`);
    const wrong: string[] = [];
    for (const bound of own) {
      const { operation, path, rule, at, past } = bound;
      // Each item of these has an outcome of its own.
      if (operation.path.endsWith('/bulk') && path.length > 1) continue;
      const [atIt, pastIt] = [await saidOf(bound, at), await saidOf(bound, past)];
      const said = `${pastIt.status} “${pastIt.reason}”, and at it “${atIt.reason}”`;
      const isToldBy =
        pastIt.reason?.includes(String(numberOf(bound))) ||
        /must not be empty|at least one/.test(pastIt.reason ?? '');
      if (pastIt.status !== 400 || !isToldBy || atIt.reason === pastIt.reason)
        wrong.push(`${operation.method} ${operation.path} ${path.join('.')} ${rule}: one past it is ${said}`);
    }
    assert.deepEqual(wrong, []);
  });

  it('the numbers that are declared are those that were promised', async () => {
    const byName = Object.groupBy(bounds, ({ path, rule }) => `${path.join('.')} ${rule}`);
    const sorted = Object.entries(byName).sort(([a], [b]) => (a < b ? -1 : 1));
    const numbers = (all: readonly Bound[] = []) => [...new Set(all.map(numberOf))].sort((a, b) => a - b);
    assert.deepEqual(Object.fromEntries(sorted.map(([name, all]) => [name, numbers(all)])), schemaBounds);
  });

  it('the name of a field in a refusal is cut after 128 characters', async () => {
    const name = 'x'.repeat(129);
    const { body } = await service.call('POST', '/v1/vaults', { name: 'v', [name]: 1 });
    assert.equal(body.error.details.field, name.slice(0, 128));
  });

  it('holds for what no schema can say: stars of a path, ids in a query, a URL, the characters of a password', async () => {
    const faultOf = async (method: string, path: string, body: object | undefined, field: string) => {
      const answer = await service.call(method, path, body);
      const { field: named = '', reason = '' } = answer.body.error?.details ?? {};
      return named.startsWith(field) ? reason : null;
    };
    const ruled = {
      ...{ secret_id: nothing, name: 'r', hosts: ['example.com'], methods: ['GET'] },
      ...{ place: { type: 'bearer' }, response: 'status-only' },
    };
    const rule = (stars: number) =>
      faultOf('POST', '/v1/use-rules', { ...ruled, paths: [`/${'*a'.repeat(stars)}`] }, 'paths');
    assert.deepEqual([await rule(10), await rule(11)], [null, 'must have at most 10 stars']);
    const counted = (count: number) => {
      const ids = Array.from({ length: count }, (_, at) => idAt(at)).join(',');
      return faultOf('GET', `/v1/vaults/counts?vault_ids=${ids}`, undefined, 'vault_ids');
    };
    assert.deepEqual([await counted(100), await counted(101)], [null, 'must contain at most 100 ids']);
    const hook = (length: number) =>
      faultOf('POST', '/v1/webhooks', { url: `https://example.com/${'x'.repeat(length - 20)}` }, 'url');
    assert.equal(await hook(2048), null);
    assert.equal(await hook(2049), 'must be an absolute URL of at most 2048 characters');
    const chosen = (length: number) =>
      faultOf('POST', '/auth/invitation/accept', { token: 'x', password: 'é'.repeat(length) }, 'password');
    for (const length of [12, 1024]) assert.equal(await chosen(length), null);
    for (const length of [11, 1025]) assert.equal(await chosen(length), 'must be 12 to 1024 characters long');
  });
});

describe('every bound that the sources declare', () => {
  it('is in the table, with a test that goes one past it or the reason why nothing refuses', () => {
    const bounds = allBounds();
    assert.ok(bounds.length > 250, `${bounds.length} bounds`);
    assert.deepEqual(tableFaults(loadTable(), bounds), []);
    assert.deepEqual(faultsOf(loosened(loadTable(), bounds)), []);
    const open = Object.values(loadTable()).flatMap(names =>
      Object.values(names).filter(one => 'open' in one),
    );
    assert.ok(open.length <= 13, `${open.length} bounds wait for a test: a new one comes with its own`);
  });

  it('is found however it is declared, and an entry is refused that says nothing true', () => {
    const text = `
      const mostOfThem = 2 * 10;
      const planLimits = { free: 100, names: 'none' };
      class Line { readonly longest = 3; }
      open({ maxSize: 4, name: 5 }, ({ shortest = 6 }) => shortest);
      const other = 7;
      let mostMoved = 8;`;
    const found = boundsOf('src/some.ts', text);
    assert.deepEqual(
      found.map(({ name, text }) => [name, text]),
      [
        ['mostOfThem', '2 * 10'],
        ['planLimits.free', '100'],
        ['longest', '3'],
        ['maxSize', '4'],
        ['shortest', '6'],
      ],
    );
    const title = 'is in the table, with a test';
    const table: Table = {
      'src/some.ts': {
        mostOfThem: { test: 'bounds', title },
        longest: { test: 'bounds', title: 'that stands nowhere' },
        maxSize: { test: 'nowhere', title },
        shortest: { reason: 'none' },
        gone: { reason: 'it was there once, and had a test or a reason' },
      },
    };
    assert.deepEqual(tableFaults(table, found), [
      'src/some.ts planLimits.free: no test is named that goes past it',
      'src/some.ts gone: no such bound is declared',
      'src/some.ts longest: bounds has no test “that stands nowhere”',
      'src/some.ts maxSize: there is no test file nowhere',
      'src/some.ts shortest: its reason says nothing',
    ]);
    const loose = loosened({ 'src/some.ts': { shortest: { test: 'bounds', title } } }, found);
    assert.deepEqual(
      loose.map(one => one.new),
      ['((6) - 1)', '((6) >> 1)'],
    );
  });
});
