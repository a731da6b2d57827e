/**
 * The list of guards that `npm run mutate` breaks one at a time: the place of each, how it is broken, and which tests
 * must notice. An entry that does not apply to the current code is a fault in the list: a change of a guard must update
 * its entry. An entry names the declaration that contains its guard, so that moving a file requires no change.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fileOf, type Index, indexOf, spanOf } from './declarations.ts';

export const root = fileURLToPath(new URL('..', import.meta.url));
export const listFolder = join(root, 'test/mutations');

export interface Change {
  readonly file: string;
  /**
   * The declaration that contains the text, as scripts/declarations.ts names it; the list has it instead of the file.
   */
  readonly in?: string;
  /** Occurs there exactly once, apart from white space, unless `at` gives its position. */
  readonly old: string;
  readonly at?: number;
  readonly new: string;
}

export interface Mutation extends Change {
  readonly id: string;
  /** What is no longer prevented once it is broken. */
  readonly guards: string;
  /** The nearest tests, as `vault-read` for test/vault-read.test.ts. */
  readonly tests: readonly string[];
  /** Restricts these to the tests whose names match. */
  readonly pattern?: string;
  /** A second guard behind the first, which is also broken. */
  readonly also?: readonly Change[];
}

export function loadMutations(folder: string): Mutation[] {
  const files = globSync('*.json', { cwd: folder }).sort();
  const listed = files.flatMap(file => JSON.parse(readFileSync(join(folder, file), 'utf8')) as Listed[]);
  const index = listed.some(one => one.in !== undefined) ? indexOf(root) : new Map();
  return listed.map(({ also, ...one }) => ({
    ...one,
    ...placed(one, index),
    ...(also && { also: also.map(change => placed(change, index)) }),
  }));
}

/** An entry as it is written, with a file or a declaration. */
type Listed = Omit<Mutation, 'file' | 'also'> & {
  readonly file?: string;
  readonly also?: readonly (Omit<Change, 'file'> & { readonly file?: string })[];
};

function placed(change: Omit<Change, 'file'> & { readonly file?: string }, index: Index): Change {
  return { ...change, file: change.file ?? fileOf(change.in!, index) };
}

export const testPath = (name: string) => `test/${name}.test.ts`;

export const changesOf = (mutation: Mutation): readonly Change[] => [mutation, ...(mutation.also ?? [])];

/** The file's text after the change; throws if the change does not apply. */
export function changed(text: string, change: Change): string {
  const { file, in: where, old, new: replacement, at } = change;
  if (at !== undefined && text.startsWith(old, at)) {
    return text.slice(0, at) + replacement + text.slice(at + old.length);
  }
  const { from, to } = where === undefined ? { from: 0, to: text.length } : spanOf(where, text);
  const found = [...text.slice(from, to).matchAll(anySpace(old.trim()))];
  if (found.length !== 1) throw new Error(`its text stands ${found.length} times in ${where ?? file}`);
  const start = from + found[0]!.index;
  return text.slice(0, start) + replacement.trim() + text.slice(start + found[0]![0].length);
}

function anySpace(text: string): RegExp {
  const escaped = text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&');
  return new RegExp(escaped.split(/\s+/).join('\\s+'), 'g');
}

/** The files that a mutation changes, with their texts before and after. */
export function applied(mutation: Mutation, folder = root): Map<string, { before: string; after: string }> {
  const texts = new Map<string, { before: string; after: string }>();
  for (const change of changesOf(mutation)) {
    const before = texts.get(change.file)?.before ?? readFileSync(join(folder, change.file), 'utf8');
    const after = changed(texts.get(change.file)?.after ?? before, change);
    texts.set(change.file, { before, after });
  }
  return texts;
}

/** The faults in the list, one line each. */
export function faultsOf(mutations: readonly Mutation[]): string[] {
  const ids = mutations.map(({ id }) => id);
  const doubled = ids.filter((id, index) => ids.indexOf(id) !== index).map(id => `${id}: stands twice`);
  return [...doubled, ...mutations.flatMap(faultsOfOne)];
}

function faultsOfOne(mutation: Mutation): string[] {
  const { id, tests, guards, pattern = '' } = mutation;
  const faults = tests.filter(name => !existsSync(join(root, testPath(name)))).map(name => `no test ${name}`);
  if (tests.length === 0) faults.push('names no tests');
  if (!guards) faults.push('does not say what it guards');
  try {
    new RegExp(pattern);
    for (const [file, { before, after }] of applied(mutation)) {
      if (before === after) faults.push('changes nothing');
      if (file.endsWith('.ts')) stripTypeScriptTypes(after); // Code that does not parse fails every test.
    }
  } catch (error) {
    faults.push((error as Error).message.split('\n')[0]!);
  }
  return faults.map(fault => `${id}: ${fault}`);
}
