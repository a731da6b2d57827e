/**
 * All limits that the sources declare as named numbers, and the test that exceeds each by one. The table,
 * test/bounds.json, lists each with its test, or with the reason why exceeding it has no visible effect and what covers
 * it instead. `npm run mutate -- --bounds` raises each limit, by one and to its double, and expects its test to fail.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { isNumber, lineFinder, type Node, visit } from './mutants.ts';
import { type Mutation, root, testPath } from './mutations.ts';

export interface Bound {
  readonly file: string;
  readonly name: string;
  readonly at: number;
  readonly line: number;
  /** The number, as it is written in the source. */
  readonly text: string;
}

/** The test that exceeds a limit by one, or the reason why nothing refuses there. */
export type Entry =
  | {
      readonly test: string;
      /** Part of the test's name. */
      readonly title: string;
      /** Why exceeding it by one has no visible effect, so that only the double is tried. */
      readonly loosely?: string;
    }
  | { readonly reason: string }
  /** What a test that is not written yet would have to do. */
  | { readonly open: string };

/** By file, then by name. */
export type Table = Readonly<Record<string, Readonly<Record<string, Entry>>>>;

export const tableFile = join(root, 'test/bounds.json');
export const loadTable = () => JSON.parse(readFileSync(tableFile, 'utf8')) as Table;

const least = /^(shortest|smallest|min|minimum|least|fewest)([A-Z]|$)/;
const most = /^(most|longest|largest|deepest|max|latest|highest|farthest)([A-Z]|$)/;
/** For constants only: durations, and limits per minute. */
const lasting = /^(?!default).*(lifetime|Lifetime|Life|For|[kK]ept|Skew|leeway|Idle|Limits?)$/;
/** The limits of schemas are in the OpenAPI document; test/bounds.test.ts exceeds all of them. */
const inSchemas = /^(max|min)(Length|Items|Properties|imum)$/;

export function boundsOf(file: string, text = readFileSync(join(root, file), 'utf8')): Bound[] {
  const found: Bound[] = [];
  const lineOf = lineFinder(text);
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, null, (node, parent) => {
    for (const [name, { start, end }] of declaredBy(node, parent)) {
      found.push({ file, name, at: start, line: lineOf(start), text: text.slice(start, end) });
    }
  });
  return found;
}

export function allBounds(): Bound[] {
  return globSync('src/**/*.ts', { cwd: root })
    .sort()
    .flatMap(file => boundsOf(file));
}

function declaredBy(node: Node, parent: Node | null): [string, Node][] {
  if (node.type === 'VariableDeclarator') return parent?.kind === 'const' ? constants(node) : [];
  if (node.type === 'AssignmentPattern') return member(node.left, node.right);
  return node.type === 'Property' || node.type === 'PropertyDefinition' ? member(node.key, node.value) : [];
}

function constants({ id: { name = '' }, init }: Node): [string, Node][] {
  if (init === null || ![least, most, lasting].some(form => form.test(name))) return [];
  return isNumber(init) ? [[name, init]] : membersOf(name, init);
}

function member({ name = '' }: Node, value: Node | null): [string, Node][] {
  const isBound = (least.test(name) || most.test(name)) && !inSchemas.test(name);
  return isBound && value !== null && isNumber(value) ? [[name, value]] : [];
}

/** Limits that are declared together, by name. */
function membersOf(name: string, init: Node): [string, Node][] {
  if (init.type !== 'ObjectExpression') return [];
  return (init.properties as Node[])
    .filter(({ key, value }) => key !== undefined && isNumber(value) && !most.test(key.name))
    .map(({ key, value }) => [`${name}.${key.name}`, value]);
}

/** The faults in the table, one line each. */
export function tableFaults(table: Table, bounds: readonly Bound[]): string[] {
  const keyOf = (file: string, name: string) => `${file} ${name}`;
  const declared = bounds.map(({ file, name }) => keyOf(file, name));
  const listed = Object.entries(table).flatMap(([file, names]) =>
    Object.keys(names).map(name => keyOf(file, name)),
  );
  return [
    ...declared.filter(one => !listed.includes(one)).map(one => `${one}: no test is named that goes past it`),
    ...listed.filter(one => !declared.includes(one)).map(one => `${one}: no such bound is declared`),
    ...declared.filter((one, at) => declared.indexOf(one) !== at).map(one => `${one}: is declared twice`),
    ...Object.entries(table).flatMap(([file, names]) =>
      Object.entries(names).flatMap(([name, entry]) =>
        entryFaults(entry).map(fault => `${keyOf(file, name)}: ${fault}`),
      ),
    ),
  ];
}

function entryFaults(entry: Entry): string[] {
  if (!('test' in entry))
    return ('open' in entry ? entry.open : entry.reason).length < 30 ? ['its reason says nothing'] : [];
  if (entry.loosely !== undefined && entry.loosely.length < 15) return ['`loosely` says nothing'];
  try {
    const isThere = titlesIn(entry.test).some(title => title.includes(entry.title));
    return isThere && entry.title !== '' ? [] : [`${entry.test} has no test “${entry.title}”`];
  } catch {
    return [`there is no test file ${entry.test}`];
  }
}

const titles = new Map<string, readonly string[]>();

/** The names of a file's tests, without computed parts. */
export function titlesIn(test: string): readonly string[] {
  const known = titles.get(test);
  if (known !== undefined) return known;
  const found: string[] = [];
  const text = readFileSync(join(root, testPath(test)), 'utf8');
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, null, node => {
    if (node.type !== 'CallExpression' || !/^(it|test)$/.test(node.callee.name ?? node.callee.property?.name))
      return;
    const [title] = node.arguments as Node[];
    if (title?.type === 'Literal') found.push(String(title.value));
    if (title?.type === 'TemplateLiteral')
      found.push((title.quasis as Node[]).map(part => part.value.cooked as string).join('\0'));
  });
  titles.set(test, found);
  return found;
}

/** Each limit with a test, raised by one and to its double. */
export function loosened(table: Table, bounds: readonly Bound[]): Mutation[] {
  return bounds.flatMap(bound => {
    const entry = table[bound.file]?.[bound.name];
    if (entry === undefined || !('test' in entry)) return [];
    const ways = entry.loosely === undefined ? ['by one', 'twofold'] : ['twofold'];
    return ways.map(way => ({
      id: `${bound.file}:${bound.name} ${way}`,
      file: bound.file,
      at: bound.at,
      old: bound.text,
      new: looser(bound, way === 'by one'),
      guards: `${bound.text} → ${looser(bound, way === 'by one')}`,
      tests: [entry.test],
      pattern: entry.title.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'),
    }));
  });
}

function looser({ name, text }: Bound, byOne: boolean): string {
  const last = name.split('.').at(-1)!;
  if (least.test(last)) return byOne ? `((${text}) - 1)` : `((${text}) >> 1)`;
  return byOne ? `((${text}) + 1)` : `((${text}) * 2)`;
}
