/** Finds the pure tests, which need no database server, command or browser and can run immediately. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, testPath } from './mutations.ts';

const around = ['test/postgres.ts', 'test/built-command.ts'];
const known = new Map<string, boolean>();

export function needsNothing(test: string): boolean {
  const file = testPath(test);
  const isKnown = known.get(file);
  if (isKnown !== undefined) return isKnown;
  const needs = around.some(one => helpersOf(file, new Set()).has(one));
  known.set(file, !needs);
  return !needs;
}

/** The file and the files in the test folder that it imports, directly or indirectly. */
function helpersOf(file: string, found: Set<string>): Set<string> {
  // Text that only looks like an import names no file.
  if (found.has(file) || !existsSync(join(root, file))) return found;
  found.add(file);
  const text = readFileSync(join(root, file), 'utf8');
  for (const [, path] of text.matchAll(/\bfrom '(\.{1,2}\/[^']+\.ts)'/g)) {
    const imported = join(dirname(file), path!);
    if (imported.startsWith('test/')) helpersOf(imported, found);
  }
  return found;
}
