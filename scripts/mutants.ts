/**
 * Generates every mutant of a source file: one changed condition, operand, comparison, bound, throw or default that a
 * test should notice. They come from the syntax, so no guard has to be listed by hand. Types are never changed, because
 * they don't exist at run time.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { type Change, root } from './mutations.ts';

export type MutantKind = 'condition' | 'operand' | 'comparison' | 'bound' | 'throw' | 'refusal' | 'default';

export interface Mutant extends Change {
  readonly kind: MutantKind;
  /** The position of the old text. */
  readonly at: number;
  readonly line: number;
}

/** A mutant without an effect that a caller could notice, with the reason. */
export interface Equivalent {
  readonly file: string;
  /** The line that the mutant changes, without the white space around it. */
  readonly line: string;
  readonly old: string;
  readonly new: string;
  readonly reason: string;
}

/** The code that decides about rights, secrets, logs or limits. */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  access: ['src/access/**/*.ts'],
  domain: ['src/domain/**/*.ts'],
  egress: ['src/egress/**/*.ts'],
  keyring: ['src/keyring/**/*.ts'],
  logs: ['src/logs/**/*.ts'],
  backup: ['src/backup/**/*.ts'],
  mcp: ['src/mcp/**/*.ts'],
  http: ['src/http/**/*.ts'],
  planes: ['src/service/planes/**/*.ts', 'src/threads/**/*.ts'],
  client: ['src/client/**/*.ts'],
  cli: [
    'src/cli/connection/{own-credentials,profiles,project,references,settings,system-keyring,workload}.ts',
    'src/cli/vault/{child,complete,environment,export,export-formats,inject,login,offline,redact,run,supervision,unsafe-names}.ts',
    'src/cli/terminal/mask.ts',
    'src/contract/variable-names.ts',
  ],
};

/** Generated from the OpenAPI document, or a page of text. */
const left = ['src/client/api.ts', 'src/http/openapi/docs.ts'];

export const equivalentsFile = join(root, 'test/equivalent-mutants.json');

export function loadEquivalents(): Equivalent[] {
  return JSON.parse(readFileSync(equivalentsFile, 'utf8')) as Equivalent[];
}

/** The files of a room, or of all of them. */
export function filesOf(room?: string): string[] {
  const patterns = room === undefined ? Object.values(rooms).flat() : rooms[room];
  if (patterns === undefined)
    throw new Error(`no such room: ${room}; there are ${Object.keys(rooms).join(', ')}`);
  return globSync([...patterns], { cwd: root })
    .filter(file => !left.some(pattern => matchesGlob(file, pattern)))
    .sort();
}

export function mutantsOf(file: string, text = readFileSync(join(root, file), 'utf8')): Mutant[] {
  const found: Mutant[] = [];
  const lineOf = lineFinder(text);
  const add: Add = (kind, { start, end }, replacement) => {
    const old = text.slice(start, end);
    if (old !== replacement)
      found.push({ file, kind, at: start, line: lineOf(start), old, new: replacement });
  };
  const source = (node: Node) => text.slice(node.start, node.end);
  visit(parseAst(text, { lang: 'ts' }) as unknown as Node, null, (node, parent) => {
    for (const rule of rules[node.type] ?? []) rule(node, { add, source, parent });
  });
  return found;
}

/** Whether a recorded reason says that this mutant has no effect. */
export function isEquivalent(
  mutant: Mutant,
  lines: readonly string[],
  known: readonly Equivalent[],
): boolean {
  const line = lines[mutant.line - 1]!.trim();
  return known.some(
    one => one.file === mutant.file && one.line === line && one.old === mutant.old && one.new === mutant.new,
  );
}

export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  // biome-ignore lint/suspicious/noExplicitAny: the parser's tree is walked by the names of its members
  readonly [member: string]: any;
}

type Add = (kind: MutantKind, place: { start: number; end: number }, replacement: string) => void;

interface Context {
  readonly add: Add;
  readonly source: (node: Node) => string;
  readonly parent: Node | null;
}

type Rule = (node: Node, context: Context) => void;

const otherComparison: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
};
const isOrdering = (operator: string) => operator.startsWith('<') || operator.startsWith('>');
const refusing = /^(assert|check|confirm|ensure|expect|forbid|limit|must|refuse|reject|require|verify)/;
const bounding = /^(max|min|length|lte|gte|lt|gt)$/;
/** A time limit is doubled, because one millisecond more can't be noticed. */
const lasting =
  /(day|hour|minute|second|longest|life|time|every|interval|patience|pause|delay|window|ttl|grace|age)/i;

const rules: Readonly<Record<string, readonly Rule[]>> = {
  IfStatement: [condition],
  ConditionalExpression: [condition],
  WhileStatement: [(node, { add }) => add('condition', node.test, 'false')],
  LogicalExpression: [logical],
  BinaryExpression: [comparison],
  UnaryExpression: [negation],
  ThrowStatement: [(node, { add }) => add('throw', node, ';')],
  ExpressionStatement: [refusal],
  CallExpression: [extremes, bounds],
  VariableDeclarator: [constantBound],
  AssignmentPattern: [(node, { add, source }) => add('default', node, source(node.left))],
  AssignmentExpression: [assignment],
};

function condition(node: Node, { add }: Context): void {
  for (const decided of ['true', 'false']) add('condition', node.test, decided);
}

function logical(node: Node, { add, source }: Context): void {
  if (node.operator === '??') {
    if (source(node.right) !== 'undefined') add('default', node, `(${source(node.left)})`);
  } else for (const side of [node.left, node.right]) add('operand', node, `(${source(side)})`);
}

function comparison(node: Node, { add, source }: Context): void {
  const other = otherComparison[node.operator];
  if (other === undefined) return;
  // The text around the operator stays, because parentheses are not part of the operands.
  const [left, between, right] = partsOf(node, source);
  add('comparison', node, left + between.replace(node.operator, other) + right);
  if (!isOrdering(node.operator)) return;
  for (const side of [node.left, node.right]) if (isNumber(side)) add('bound', side, `(${source(side)} + 1)`);
}

function partsOf(node: Node, source: Context['source']): [string, string, string] {
  const [first, second] = [node.left.end - node.start, node.right.start - node.start];
  const text = source(node);
  return [text.slice(0, first), text.slice(first, second), text.slice(second)];
}

function negation(node: Node, { add, source, parent }: Context): void {
  const isWholeCondition = parent?.test === node;
  if (node.operator === '!' && !isWholeCondition) add('condition', node, `(${source(node.argument)})`);
}

function refusal(node: Node, { add }: Context): void {
  const call = node.expression.type === 'AwaitExpression' ? node.expression.argument : node.expression;
  if (call.type === 'CallExpression' && refusing.test(nameOf(call.callee))) add('refusal', node, ';');
}

function extremes(node: Node, { add, source }: Context): void {
  const name = source(node.callee);
  if (name === 'Math.min') add('bound', node.callee, 'Math.max');
  if (name === 'Math.max') add('bound', node.callee, 'Math.min');
}

function bounds(node: Node, { add, source }: Context): void {
  if (!bounding.test(nameOf(node.callee)) || node.callee.type !== 'MemberExpression') return;
  if (source(node.callee.object) === 'Math') return;
  const [first] = node.arguments;
  if (first !== undefined && isNumber(first)) add('bound', first, `(${source(first)} + 1)`);
}

function constantBound(node: Node, { add, source, parent }: Context): void {
  if (parent?.kind !== 'const' || node.init === null || !isNumber(node.init)) return;
  const name = source(node.id);
  add('bound', node.init, `(${source(node.init)}) ${lasting.test(name) ? '* 2' : '+ 1'}`);
}

function assignment(node: Node, { add, source }: Context): void {
  if (!['??=', '||=', '&&='].includes(node.operator)) return;
  add('default', node, `${source(node.left)} = ${source(node.right)}`);
}

function nameOf(callee: Node): string {
  return callee.type === 'MemberExpression' ? (callee.property.name ?? '') : (callee.name ?? '');
}

/** Numbers, and expressions of numbers only. */
export function isNumber(node: Node): boolean {
  if (node.type === 'Literal') return typeof node.value === 'number';
  return node.type === 'BinaryExpression' && isNumber(node.left) && isNumber(node.right);
}

/** Types, and other syntax that is removed with them. */
const isType = (node: Node) => node.type.startsWith('TS') && node.expression === undefined;

export function visit(node: Node, parent: Node | null, see: (node: Node, parent: Node | null) => void): void {
  if (isType(node)) return;
  see(node, parent);
  for (const member of Object.values(node)) {
    for (const child of Array.isArray(member) ? member : [member]) {
      if (typeof child?.type === 'string') visit(child as Node, node, see);
    }
  }
}

export function lineFinder(text: string): (at: number) => number {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return at => starts.findLastIndex(start => start <= at) + 1;
}
