/**
 * Requests made from the OpenAPI document: mostly what it asks for, with a wrong value, a missing member or one too
 * many now and then. Whatever is sent, the answer is one that the document knows, and never an inner error.
 */
import assert from 'node:assert/strict';
import fc, { type Arbitrary } from 'fast-check';
import { Document, type Json, makeWorld, type Operation, readVault } from './document.ts';
import type { Service } from './harness.ts';

interface Fuzzed {
  readonly operation: Operation;
  readonly id: string;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: Json;
}

export interface FuzzOptions {
  readonly runs: number;
  readonly seed?: number;
}

/** How many requests ended in which status. */
export type Outcome = Record<number, number>;

export async function fuzz(service: Service, { runs, seed }: FuzzOptions): Promise<Outcome> {
  const document = await Document.of(service);
  const ids = await pool(service);
  const statuses: Outcome = {};
  const property = fc.asyncProperty(requests(document, ids), async request => {
    const status = await send(service, document, request);
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  await fc.assert(property, { numRuns: runs, ...(seed === undefined ? {} : { seed }), endOnFailure: true });
  assert.deepEqual(service.reports, []);
  return statuses;
}

/** Ids of what there is, so that a good part of the requests meets something: by collection, and to be deleted. */
interface Pool {
  readonly kept: Readonly<Record<string, string>>;
  readonly expendable: readonly string[];
}

async function pool(service: Service): Promise<Pool> {
  const world = await makeWorld(service.call);
  await readVault(service, service.call, world);
  const kept: Record<string, string> = { vaults: world.vaultId, resources: world.vaultId, keys: world.keyId };
  for (const [collection, body] of [
    ['secrets', { vault_id: world.vaultId, name: 'fuzzed', value: 'x' }],
    [
      'certificates',
      { vault_id: world.vaultId, name: 'c', key_id: world.keyId, self_signed: { subject: 'CN=c' } },
    ],
    ['access-keys', { vault_id: world.vaultId, name: 'a' }],
    ['public-tokens', { key_id: world.keyId }],
    ['api-keys', { name: 'a', role: 'viewer' }],
    ['members', { email: 'fuzz@example.com', role: 'viewer' }],
  ] as const) {
    const made = await service.call('POST', `/v1/${collection}`, body);
    assert.equal(made.status, 200, made.text);
    kept[collection] = made.body.id;
  }
  const bodies = Array.from({ length: 50 }, (_, at) => ({
    vault_id: world.vaultId,
    name: `${at}`,
    value: 'x',
  }));
  const { body } = await service.call('POST', '/v1/secrets/bulk', { items: bodies });
  return { kept, expendable: body.results.map((result: Json) => result.secret.id) };
}

function requests(document: Document, pool: Pool): Arbitrary<Fuzzed> {
  const values = new Values(document, Object.values(pool.kept));
  return fc.oneof(
    ...document.operations().map(operation =>
      fc.record({
        operation: fc.constant(operation),
        id: fc.oneof(
          { weight: 8, arbitrary: fittingId(operation, pool) },
          { weight: 1, arbitrary: fc.uuid() },
          { weight: 1, arbitrary: fc.string({ minLength: 1 }) },
        ),
        query: values.query(operation),
        body: values.body(operation),
      }),
    ),
  );
}

function fittingId({ method, path }: Operation, { kept, expendable }: Pool): Arbitrary<string> {
  const id = kept[path.split('/')[2]!];
  return method === 'DELETE' || id === undefined ? fc.constantFrom(...expendable) : fc.constant(id);
}

async function send(service: Service, document: Document, { operation, id, query, body }: Fuzzed) {
  const parameters = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, asText(value)]));
  const path = operation.path.replace('{id}', encodeURIComponent(id));
  const answer = await service.call(operation.method, `${path}?${parameters}`, body);
  const shown = `${operation.method} ${path}?${parameters} ${JSON.stringify(body)}: ${answer.text.slice(0, 300)}`;
  assert.notEqual(answer.status, 500, shown);
  if (answer.status !== 404 && id !== '.' && id !== '..') {
    const type = answer.headers.get('content-type') ?? '';
    const faults = document.answerFaults(operation, answer.status, type, answer.body);
    assert.deepEqual(faults, [], shown);
  }
  return answer.status;
}

/** An object may be one that has no text of its own: `{toString: null}`. */
function asText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Values for the document's schemas. */
class Values {
  readonly #document: Document;
  readonly id: Arbitrary<string>;

  constructor(document: Document, ids: readonly string[]) {
    this.#document = document;
    this.id = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...ids) },
      { weight: 1, arbitrary: fc.uuid() },
    );
  }

  body({ value, method }: Operation): Arbitrary<Json> {
    const schema = value.requestBody?.content['application/json'].schema;
    if (schema === undefined)
      return method === 'POST' ? fc.constantFrom(undefined, {}) : fc.constant(undefined);
    return this.of(schema, 0).map(cheap);
  }

  query({ value }: Operation): Arbitrary<Record<string, unknown>> {
    const parameters = (value.parameters ?? []).filter((one: Json) => one.in === 'query');
    const each = Object.fromEntries(
      parameters.map((one: Json) => [
        one.name,
        fc.option(this.of(one.schema, 0), { nil: undefined, freq: 5 }),
      ]),
    );
    return fc
      .record(each)
      .map(query => Object.fromEntries(Object.entries(query).filter(([, one]) => one !== undefined)));
  }

  of(schema: Json, depth: number): Arbitrary<unknown> {
    return fc.oneof(
      { weight: 15, arbitrary: this.#fitting(schema, depth) },
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    );
  }

  #fitting(schema: Json, depth: number): Arbitrary<unknown> {
    if (schema.$ref !== undefined) return this.#named(schema.$ref.split('/').at(-1), depth);
    const choices = schema.oneOf ?? schema.anyOf;
    if (choices !== undefined) return fc.oneof(...choices.map((one: Json) => this.of(one, depth)));
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
    return this.#ofType(schema, depth);
  }

  #named(name: string, depth: number): Arbitrary<unknown> {
    return name === 'Id' ? this.id : this.of(this.#document.value.components.schemas[name], depth + 1);
  }

  #ofType(schema: Json, depth: number): Arbitrary<unknown> {
    switch (schema.type) {
      case 'string':
        return text(schema);
      case 'integer':
      case 'number':
        return fc.integer({
          min: (schema.minimum ?? 0) - 1,
          max: Math.min((schema.maximum ?? 100) + 1, 2 ** 31 - 1),
        });
      case 'boolean':
        return fc.boolean();
      case 'null':
        return fc.constant(null);
      case 'array':
        return fc.array(this.of(schema.items ?? {}, depth + 1), { maxLength: 4 });
      case 'object':
        return this.#object(schema, depth);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  #object({ properties, additionalProperties, required = [] }: Json, depth: number): Arbitrary<unknown> {
    if (properties === undefined)
      return fc.dictionary(fc.string(), this.of(additionalProperties || {}, depth + 1), { maxKeys: 4 });
    const members = Object.fromEntries(
      Object.entries(properties).map(([name, one]) => {
        const freq = required.includes(name) ? 40 : 1;
        return [name, fc.option(this.of(one, depth + 1), { nil: undefined, freq })];
      }),
    );
    const extra = fc.oneof(
      { weight: 20, arbitrary: fc.constant({}) },
      { weight: 1, arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 1 }) },
    );
    return fc.tuple(fc.record(members), extra).map(([object, more]) => ({ ...more, ...object }));
  }
}

function text(schema: Json): Arbitrary<string> {
  if (schema.format === 'date-time') return fc.date({ noInvalidDate: true }).map(date => date.toISOString());
  const examples = schema.examples ?? ['x'];
  return fc.oneof(
    fc.constantFrom(...examples.map(String)),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 300 }),
  );
}

/** The largest RSA keys take seconds to make, and show nothing that smaller ones don't. */
function cheap(body: Json): Json {
  if (body?.generate?.key_type !== 'RSA') return body;
  return { ...body, generate: { key_type: 'RSA', key_size: 2048 } };
}
