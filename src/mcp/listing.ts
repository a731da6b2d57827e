/**
 * The tools as `tools/list` returns them. Every byte ends up in a model's context, so the listing is short. It omits
 * limits, which calls are checked against anyway, and the fields of a vault connection, which the instructions list.
 * A connection is listed only for callers without a credential in the header: others don't need one, and it would pass
 * through a model. The schemas accept everything that a call accepts, and every answer, including refusals. Annotations
 * are listed if their default would be wrong, and if a call may destroy something; reads are idempotent anyway.
 */
import { z } from 'zod';
import { refusal } from '../contract/tools.ts';
import { type Naming, type Tool, tools, underscored } from './tools.ts';

type Json = Readonly<Record<string, unknown>>;

export const instructions =
  'Strongroom keeps secrets, keys and certificates in vaults. The tools work in one vault. Prefer using a secret, which makes a call without showing its value, to reading the value. List or search first, then get one resource by name or id. Ask for values only when you need them, and keep them out of your answers. Every call is recorded in the vault’s log. Each tool also takes vault: {vaultId, accessKey, baseUrl}, or credentials, which is the same; omit it if the connection has an access key, which is safer.';

const listings = {
  dotted: { keyed: listing('dotted', true), open: listing('dotted', false) },
  underscore: { keyed: listing('underscore', true), open: listing('underscore', false) },
} as const;

/** `hasKey`: whether the caller sent a credential in the header. */
export function listingFor(naming: Naming, hasKey: boolean) {
  return [...listings[naming][hasKey ? 'keyed' : 'open']];
}

function listing(naming: Naming, hasKey: boolean) {
  return tools.map(tool => ({
    name: named(tool.name, naming),
    title: tool.title,
    description: named(tool.description, naming),
    inputSchema: inputOf(tool, hasKey),
    outputSchema: outputOf(tool),
    annotations: {
      ...(tool.readOnly ? { readOnlyHint: true } : { destructiveHint: tool.reachesOut }),
      ...(tool.reachesOut ? {} : { openWorldHint: false }),
    },
  }));
}

/** Replaces the names of tools in a text by the names under which they are listed. */
function named(text: string, naming: Naming): string {
  if (naming === 'dotted') return text;
  return tools.reduce((so, { name }) => so.replaceAll(name, underscored(name)), text);
}

function inputOf({ input }: Tool, hasKey: boolean) {
  const schema = z.toJSONSchema(input, { io: 'input' }) as Json;
  const { vault: _, credentials: __, ...properties } = schema.properties as Record<string, Json>;
  const shown = Object.entries(properties).map(([name, one]) => [name, argument(one)]);
  const connections = hasKey ? {} : { vault: { type: 'object' }, credentials: { type: 'object' } };
  return {
    type: 'object' as const,
    properties: { ...Object.fromEntries(shown), ...connections },
    ...(schema.required === undefined ? {} : { required: schema.required as string[] }),
  };
}

/** The part of an argument's schema that a model needs; a reference always points to an id, which is a string. */
function argument({ type = 'string', enum: values, description, properties }: Json): Json {
  return {
    type,
    ...(values === undefined ? {} : { enum: values }),
    ...(description === undefined ? {} : { description }),
    ...(properties === undefined ? {} : { properties }),
  };
}

/**
 * No member is required and additional ones are allowed, because clients also validate refusals against this schema. A
 * member that occurs in answers and refusals is listed with all its types.
 */
function outputOf({ output }: Tool) {
  const answers = membersOf(output);
  const refusals = membersOf(refusal);
  const types = Object.entries(answers).map(([name, own]) => {
    const all = [...new Set([...own, ...(refusals[name] ?? [])])];
    return [name, { type: all.length === 1 ? all[0] : all }];
  });
  return { type: 'object' as const, properties: Object.fromEntries(types) };
}

/** The types of each member, across all forms of an answer. */
function membersOf(output: z.ZodType): Record<string, readonly string[]> {
  const { $defs, ...schema } = z.toJSONSchema(output) as Json;
  const members: Record<string, readonly string[]> = {};
  for (const form of formsOf(schema, $defs as Json)) {
    for (const [name, member] of Object.entries(form.properties as Record<string, Json>))
      members[name] = [...(members[name] ?? []), ...formsOf(member, $defs as Json).flatMap(typesOf)];
  }
  return members;
}

/** The schema itself, or the alternatives of a union. */
function formsOf(schema: Json, defs: Json): readonly Json[] {
  const { $ref, anyOf } = schema;
  if ($ref !== undefined) return formsOf(defs[String($ref).split('/').at(-1)!] as Json, defs);
  return anyOf === undefined ? [schema] : (anyOf as Json[]).flatMap(each => formsOf(each, defs));
}

function typesOf({ type = 'string' }: Json): string[] {
  return [type as string | string[]].flat();
}
