/**
 * The tools as `tools/list` shows them: every byte of it stands in a model's context, so it is short. Bounds that the
 * call is checked by anyway are left out, and so are the members of a vault connection, which the instructions name once.
 * A connection is listed only for callers without a credential in the header: the others don't need one, and it would
 * pass through a model. What is listed refuses nothing that a call accepts, and no answer, refusals included. Annotations
 * are listed where their default would be untrue, and where something may be destroyed: a read is idempotent by being one.
 */
import { z } from 'zod';
import { refusal } from '../contract/tools.ts';
import { type Naming, type Tool, tools, underscored } from './tools.ts';

type Json = Readonly<Record<string, unknown>>;

export const instructions =
  'Strongroom keeps secrets, keys and certificates in vaults. The tools work in one vault. Prefer to use a secret, which makes a call with it and never shows it, to reading its value. List or search first, then get one thing by name or id. Ask for values only when you need them, and keep them out of your answers. Every call is written to the vault’s log. Each tool also takes vault: {vaultId, accessKey, baseUrl}, or credentials, which is the same; omit it if the connection carries an access key, which is safer.';

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

/** A text in which tools are called as they are listed. */
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

/** What a model needs to write one; a reference is to an id, which is a text. */
function argument({ type = 'string', enum: values, description, properties }: Json): Json {
  return {
    type,
    ...(values === undefined ? {} : { enum: values }),
    ...(description === undefined ? {} : { description }),
    ...(properties === undefined ? {} : { properties }),
  };
}

/**
 * Nothing is required and nothing else forbidden, because clients check refusals against it too. A member that answers
 * and refusals have in common is listed with the types that it has in any of them.
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

/** The types of each member, in all forms of an answer together. */
function membersOf(output: z.ZodType): Record<string, readonly string[]> {
  const { $defs, ...schema } = z.toJSONSchema(output) as Json;
  const members: Record<string, readonly string[]> = {};
  for (const form of formsOf(schema, $defs as Json)) {
    for (const [name, member] of Object.entries(form.properties as Record<string, Json>))
      members[name] = [...(members[name] ?? []), ...formsOf(member, $defs as Json).flatMap(typesOf)];
  }
  return members;
}

/** A schema, or those that it is a choice of. */
function formsOf(schema: Json, defs: Json): readonly Json[] {
  const { $ref, anyOf } = schema;
  if ($ref !== undefined) return formsOf(defs[String($ref).split('/').at(-1)!] as Json, defs);
  return anyOf === undefined ? [schema] : (anyOf as Json[]).flatMap(each => formsOf(each, defs));
}

function typesOf({ type = 'string' }: Json): string[] {
  return [type as string | string[]].flat();
}
