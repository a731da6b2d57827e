/**
 * The tools as `tools/list` shows them: every byte of it stands in a model's context, so it is short. Bounds that the
 * call is checked by anyway are left out, and so is how to name a vault, which the instructions say once for all.
 * What is listed refuses nothing that a call accepts. Of the annotations, those are listed whose default would be
 * untrue, and what may destroy something: a read is idempotent by being one, and its title stands beside them.
 */
import { z } from 'zod';
import { type Naming, type Tool, tools, underscored } from './tools.ts';

type Json = Readonly<Record<string, unknown>>;

export const instructions =
  'Strongroom keeps secrets, keys and certificates in vaults. The tools work in one vault. Prefer to use a secret, which makes a call with it and never shows it, to reading its value. List or search first, then get one thing by name or id. Ask for values only when you need them, and keep them out of your answers. Every call is written to the vault’s log. Each tool also takes vault: {vaultId, accessKey, baseUrl}, or credentials, which is the same; omit it if the connection carries an access key, which is safer.';

export const listings = { dotted: listing('dotted'), underscore: listing('underscore') } as const;

function listing(naming: Naming) {
  return tools.map(tool => ({
    name: named(tool.name, naming),
    title: tool.title,
    description: named(tool.description, naming),
    inputSchema: inputOf(tool),
    outputSchema: outputOf(tool),
    annotations: {
      ...(tool.readOnly ? { readOnlyHint: true } : { destructiveHint: tool.reachesOut }),
      ...(tool.reachesOut ? {} : { openWorldHint: false }),
    },
  }));
}

/** A text in which tools are called as they are listed. */
function named(text: string, naming: Naming): string {
  if (naming === 'dotted') return text;
  return tools.reduce((so, { name }) => so.replaceAll(name, underscored(name)), text);
}

function inputOf({ input }: Tool) {
  const schema = z.toJSONSchema(input, { io: 'input' }) as Json;
  const { vault: _, credentials: __, ...properties } = schema.properties as Record<string, Json>;
  const shown = Object.entries(properties).map(([name, one]) => [name, argument(one)]);
  return {
    type: 'object' as const,
    properties: Object.fromEntries(shown),
    ...(schema.required === undefined ? {} : { required: schema.required as string[] }),
  };
}

/** What a model needs to write one; a reference is to an id, which is a text. */
function argument({ type = 'string', enum: values, description, properties }: Json): Json {
  return {
    type,
    ...(values === undefined ? {} : { enum: values }),
    ...(description === undefined ? {} : { description }),
    ...(properties === undefined ? {} : { properties }),
  };
}

/** Nothing is required and nothing else forbidden: clients check refusals against it too. */
function outputOf({ output }: Tool) {
  const { anyOf, $defs, ...one } = z.toJSONSchema(output) as Json;
  const answers = ((anyOf as Json[] | undefined) ?? [one]).map(each => resolved(each, $defs as Json));
  const members = answers.flatMap(answer => Object.entries(answer.properties as Record<string, Json>));
  const types = members.map(([name, member]) => [name, typeOf(member)]);
  return { type: 'object' as const, properties: Object.fromEntries(types) };
}

function resolved(schema: Json, defs: Json): Json {
  const { $ref } = schema;
  return $ref === undefined ? schema : (defs[String($ref).split('/').at(-1)!] as Json);
}

function typeOf({ type, anyOf }: Json): Json {
  if (type !== undefined) return { type };
  return anyOf === undefined ? { type: 'string' } : {};
}
