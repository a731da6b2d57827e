/**
 * The declarations of the sources, by name. A listed guard names its declaration and not its file, so that it stays
 * valid when a file is moved, split or reformatted.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

export interface Declaration {
  /** `name`, or `Class.method`. */
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

/** The declarations of each file, whose path is relative to the checkout. */
export type Index = ReadonlyMap<string, readonly Declaration[]>;

export function indexOf(root: string): Index {
  const files = globSync('src/**/*.ts', { cwd: root }).sort();
  return new Map(files.map(file => [file, declarationsIn(readFileSync(join(root, file), 'utf8'))]));
}

/** The top-level declarations of a file, and the methods of its classes. */
export function declarationsIn(text: string): Declaration[] {
  const { body } = parseAst(text, { lang: 'ts' }) as unknown as { body: Node[] };
  return body.flatMap(statement => declared(statement.declaration ?? statement, statement));
}

/** The file of a declaration, which is `name` if only one file has it, otherwise `part/of/path:name`. */
export function fileOf(where: string, index: Index): string {
  const [name, path] = where.split(':').reverse() as [string, string?];
  const ends = path === undefined ? '.ts' : `/${path}.ts`;
  const files = [...index].filter(([file, all]) => file.endsWith(ends) && all.some(one => one.name === name));
  if (files.length !== 1) throw new Error(`${where} is declared in ${files.length} files`);
  return files[0]![0];
}

/** The name of the declaration at a position in a file; null outside of every declaration. */
export function whereOf(file: string, at: number, index: Index): string | null {
  const around = index.get(file)!.filter(({ from, to }) => from <= at && at < to);
  const innermost = around.sort((a, b) => a.to - a.from - (b.to - b.from))[0];
  if (innermost === undefined) return null;
  const parts = file.replace(/^src\/|\.ts$/g, '').split('/');
  const names = [
    innermost.name,
    ...parts.map((_, at) => `${parts.slice(-1 - at).join('/')}:${innermost.name}`),
  ];
  return names.find(name => isUnique(name, index)) ?? null;
}

/** The position of a declaration in its file's text. */
export function spanOf(where: string, text: string): Declaration {
  const name = where.replace(/^.*:/, '');
  const [found, another] = declarationsIn(text).filter(one => one.name === name);
  if (found === undefined || another !== undefined) throw new Error(`${where} is not declared once`);
  return found;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly declaration?: Node | null;
  readonly declarations?: readonly { readonly id: Name }[];
  readonly id?: Name | null;
  readonly body?: { readonly body?: readonly Member[] };
}

interface Name {
  readonly type?: string;
  readonly name?: string;
}

interface Member extends Node {
  readonly key?: Name;
}

function declared(node: Node, { start: from, end: to }: Node): Declaration[] {
  const names = node.declarations?.map(({ id }) => id) ?? [node.id];
  const own = names.flatMap(id => (id?.name === undefined ? [] : [{ name: id.name, from, to }]));
  if (node.type !== 'ClassDeclaration') return own;
  const methods = (node.body?.body ?? []).flatMap(({ key, start, end }) =>
    key?.name === undefined ? [] : [{ name: `${node.id?.name}.${spelled(key)}`, from: start, to: end }],
  );
  return [...own, ...methods];
}

function spelled({ type, name }: Name): string {
  return type === 'PrivateIdentifier' ? `#${name}` : name!;
}

function isUnique(where: string, index: Index): boolean {
  try {
    fileOf(where, index);
    return true;
  } catch {
    return false;
  }
}
