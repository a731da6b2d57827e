/** Converts contract schemas for the OpenAPI document: named schemas become components, others are written inline. */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** Collects the named schemas; the others are written inline. */
export class Components {
  readonly schemas: Record<string, Json> = {};

  schemaOf(schema: z.ZodType): Json {
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ it: schema }), {
      io: 'input',
      unrepresentable: 'any',
      override: ({ jsonSchema }) => tidy(jsonSchema as Json),
    }) as unknown as { properties: { it: Json }; $defs?: Record<string, Json> };
    for (const [name, definition] of Object.entries($defs)) this.#add(name, rehomed(definition));
    return rehomed(properties.it);
  }

  /** Throws if two different schemas have the same name, because one would replace the other in the document. */
  #add(name: string, definition: Json): void {
    const known = this.schemas[name] ?? definition;
    if (!isDeepStrictEqual(known, definition)) throw new Error(`two schemas are called ${name}`);
    this.schemas[name] = definition;
  }
}

/** JSON Schema has a list of examples. The bounds of safe integers are left out. */
function tidy(schema: Json): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (!('example' in schema)) return;
  schema.examples = [schema.example];
  delete schema.example;
}

function rehomed(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
}

export function queryParameters(query: z.ZodType | undefined, components: Components): Json[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = components.schemaOf(query) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
  }));
}
