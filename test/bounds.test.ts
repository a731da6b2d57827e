/**
 * Bounds: every one that the API's document declares for a field of a body or for a parameter is gone one past, and the
 * refusal names the field; at the bound itself nothing is refused for it. Bounds that no schema declares are constants:
 * each of them is listed with the test that goes one past it, so that a new one needs such a test.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Document, type Json, type Operation } from './document.ts';
import { type Service, startService } from './harness.ts';

interface Bound {
  readonly operation: Operation;
  /** Of the field, in the body; or of the parameter. */
  readonly path: readonly string[];
  readonly rule: string;
  readonly inQuery: boolean;
  readonly at: unknown;
  readonly past: unknown;
}

const nothing = '01999999-9999-7999-8999-999999999999';
const idAt = (at: number) => `01999999-9999-7999-8999-${String(at).padStart(12, '0')}`;

/** Values at a bound and one past it, for each kind of bound that a schema can have. */
function valuesOf(schema: Json, resolve: (schema: Json) => Json): (readonly [string, unknown, unknown])[] {
  const found: (readonly [string, unknown, unknown])[] = [];
  const { maxLength, minLength, maximum, minimum, maxItems, minItems, maxProperties } = schema;
  const text = (length: number) => 'a'.repeat(length);
  const list = (length: number) => Array.from({ length }, (_, at) => itemAt(resolve(schema.items ?? {}), at));
  const map = (size: number) =>
    Object.fromEntries(Array.from({ length: size }, (_, at) => [`member-${at}`, 'x']));
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

function withValue(body: Json, [first, ...rest]: readonly string[], value: unknown): Json {
  if (first === undefined) return value;
  const copy = Array.isArray(body) ? [...body] : { ...body };
  copy[first] = withValue(copy[first] ?? (rest[0] === '0' ? [] : {}), rest, value);
  return copy;
}

describe('every bound that the API declares', () => {
  let service: Service;
  let bounds: Bound[];

  before(async () => {
    service = await startService({});
    const document = await Document.of(service);
    const resolve = (schema: Json) => document.resolve(schema);
    const inSchema = (schema: Json, path: readonly string[], depth = 0): [readonly string[], Json][] => {
      const plain = resolve(schema);
      if (plain === undefined || depth > 6) return [];
      const forms = [...(plain.anyOf ?? []), ...(plain.oneOf ?? []), ...(plain.allOf ?? [])];
      const members = Object.entries(plain.properties ?? {});
      return [
        [path, plain],
        ...forms.flatMap(form => inSchema(form, path, depth + 1)),
        ...members.flatMap(([name, member]) => inSchema(member, [...path, name], depth + 1)),
        ...(plain.items === undefined ? [] : inSchema(plain.items, [...path, '0'], depth + 1)),
      ];
    };
    bounds = document.operations().flatMap(operation => {
      const ofBody = inSchema(document.requestSchema(operation), []).map(
        ([path, schema]) => [path, schema, false] as const,
      );
      const parameters = ((operation.value.parameters ?? []) as Json[]).map(resolve);
      const ofQuery = parameters
        .filter(({ in: place }) => place === 'query')
        .map(({ name, schema }) => [[name as string], resolve(schema), true] as const);
      return [...ofBody, ...ofQuery].flatMap(([path, schema, inQuery]) =>
        path.length === 0
          ? []
          : valuesOf(schema, resolve).map(([rule, at, past]) => ({
              operation,
              path,
              rule,
              inQuery,
              at,
              past,
            })),
      );
    });
  });
  after(() => service.stop());

  interface Said {
    readonly status: number;
    /** What is said about the field; null where it is not to blame. */
    readonly reason: string | null;
  }

  async function saidOf({ operation, path, inQuery }: Bound, value: unknown): Promise<Said> {
    const target = operation.path.replaceAll(/\{\w+\}/g, nothing);
    const example = operation.value.requestBody?.content['application/json'].example ?? {};
    const answer = inQuery
      ? await service.call(operation.method, `${target}?${path[0]}=${encodeURIComponent(String(value))}`)
      : await service.call(operation.method, target, withValue(example, path, value));
    if (answer.status !== 400) return { status: answer.status, reason: null };
    const { field, reason } = answer.body.error.details as { field: string; reason: string };
    const dotted = path.join('.');
    const isNamed = field !== '' && (dotted.startsWith(field) || field.startsWith(dotted));
    return { status: 400, reason: isNamed ? reason : null };
  }

  it('is refused one past it, by the name of the field, and not at it', async () => {
    assert.ok(bounds.length > 300, `${bounds.length} bounds`);
    const wrong: string[] = [];
    let judged = 0;
    for (const bound of bounds) {
      const { operation, path, rule, at, past } = bound;
      // Each item of these has an outcome of its own.
      if (operation.path.endsWith('/bulk') && path.length > 1) continue;
      const name = `${operation.method} ${operation.path} ${path.join('.')} ${rule}`;
      const [atIt, pastIt] = [await saidOf(bound, at), await saidOf(bound, past)];
      if (pastIt.status !== 400) wrong.push(`${name}: one past it is ${pastIt.status}`);
      // A made-up value may be wrong for another reason too; then that one is said at the bound.
      else if (pastIt.reason !== null && pastIt.reason !== atIt.reason) judged++;
    }
    assert.deepEqual(wrong, []);
    assert.ok(judged > bounds.length * 0.7, `${judged} of ${bounds.length} are told by the bound alone`);
  });
});
