/**
 * Writes `src/client/api.ts`, the types and operations of the general API for the client, from the OpenAPI document of
 * a service that it starts. Run `npm run client:api` after a route or a schema changes; a test compares the two.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// biome-ignore lint/suspicious/noExplicitAny: JSON Schema has every shape
type Json = any;

const header = `/**
 * The general API as its OpenAPI document describes it. Written by \`npm run client:api\`; don't edit it.
 */
`;

const helper = `/** An operation is its method and path; its type says what is sent and what is returned. */
type Operation<Asked, Answered> = string & { asked: Asked; answered: Answered };
const at = <Asked, Answered>(endpoint: string) => endpoint as Operation<Asked, Answered>;
`;

/** The routes for the dashboard's session are not for programs. */
const isForPrograms = (path: string) => path.startsWith('/v1/');

export function apiSource(document: Json): string {
  const operations = Object.entries<Json>(document.paths)
    .filter(([path]) => isForPrograms(path))
    .flatMap(([path, methods]) =>
      Object.entries<Json>(methods).map(([method, operation]) => ({ path, method, operation })),
    );
  const lines = operations.map(
    ({ path, method, operation }) => `  ${operationOf(operation)}('${method.toUpperCase()} ${path}'),`,
  );
  return [
    header,
    schemasOf(document, lines),
    helper,
    `export const operations = {\n${lines.join('\n')}\n};\n`,
  ].join('\n');
}

/** The schemas that an operation uses, and those of the vault read. */
function schemasOf({ components }: Json, seeds: readonly string[]): string {
  const written = new Map<string, string>();
  const queue = [...seeds.flatMap(namesIn), 'VaultRead', 'VaultReadNames'];
  for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
    const schema = components.schemas[name];
    if (written.has(name) || schema === undefined) continue;
    const type = typeOf(schema);
    written.set(name, `${comment(schema.description)}export type ${name} = ${type};`);
    queue.push(...namesIn(type));
  }
  return `${[...written.keys()]
    .sort()
    .map(name => written.get(name))
    .join('\n')}\n`;
}

function namesIn(type: string): string[] {
  return type.replaceAll(/"[^"]*"|\/\*.*?\*\//g, '').match(/\b[A-Z]\w+/g) ?? [];
}

function operationOf(operation: Json): string {
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  const path = parameters.filter((one: Json) => one.in === 'path');
  const query = parameters.filter((one: Json) => one.in === 'query');
  const asked = [
    ...path.map((one: Json) => `${one.name}: string`),
    ...(query.length === 0 ? [] : [`query?: ${queryType(query)}`]),
    ...(requestBody === undefined ? [] : [bodyType(requestBody)]),
  ];
  const answer = responses[200].content['application/json']?.schema;
  const answered = answer === undefined ? 'string' : typeOf(answer);
  return `${comment(`${summary}. ${description}`)}${operationId}: at<{ ${asked.join('; ')} }, ${answered}>`;
}

function queryType(parameters: Json[]): string {
  return `{ ${parameters.map(one => `${comment(one.description)}${one.name}${one.required ? '' : '?'}: ${typeOf(one.schema)}`).join('; ')} }`;
}

function bodyType({ required, content }: Json): string {
  return `body${required ? '' : '?'}: ${typeOf(content['application/json'].schema)}`;
}

function typeOf(schema: Json): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return union(schema.enum.map((one: Json) => JSON.stringify(one)));
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return union(choices.map(typeOf));
  if (Array.isArray(schema.type))
    return union(schema.type.map((type: string) => typeOf({ ...schema, type })));
  return simpleType(schema);
}

function simpleType(schema: Json): string {
  if (schema.type === 'array') return `readonly (${typeOf(schema.items)})[]`;
  if (schema.type === 'object') return objectType(schema);
  if (schema.type === 'integer') return 'number';
  return schema.type ?? 'unknown';
}

function objectType({ properties, required = [], additionalProperties }: Json): string {
  const open = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
  if (properties === undefined) return `{ readonly [name: string]: ${open} }`;
  const members = Object.entries<Json>(properties).map(
    ([name, schema]) =>
      `${comment(schema.description)}${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  return `{ ${members.join('; ')} }`;
}

const union = (types: readonly string[]) => [...new Set(types)].join(' | ');

function comment(text: string | undefined): string {
  return text === undefined ? '' : `/** ${text.replaceAll('*/', '* /').replaceAll(/\s+/g, ' ')} */ `;
}

async function documentOfService(): Promise<Json> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-api-'));
  const command = fileURLToPath(new URL('../bin/strongroom.js', import.meta.url));
  const service = spawn(process.execPath, [command, 'serve', '--data', folder, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line] = await once(service.stdout, 'data');
    const [url] = /http:\S+/.exec(String(line))!;
    return await (await fetch(`${url}/v1/openapi.json`)).json();
  } finally {
    service.kill('SIGTERM');
    await once(service, 'exit');
    rmSync(folder, { recursive: true });
  }
}

async function main(): Promise<void> {
  const target = new URL('../src/client/api.ts', import.meta.url);
  writeFileSync(target, apiSource(await documentOfService()));
}

if (import.meta.main) void main();
