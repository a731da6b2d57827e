/**
 * A random sample of the mutants of the sources, each with the tests that run its line, most likely to fail first, and
 * the estimate for all mutants.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Coverage, testsOfLine } from './coverage.ts';
import { filesOf, isEquivalent, loadEquivalents, type Mutant, mutantsOf } from './mutants.ts';
import { changesOf, listFolder, loadMutations, type Mutation, root } from './mutations.ts';
import { needsNothing } from './test-imports.ts';

export interface Sample {
  readonly chosen: readonly Mutation[];
  /** Mutants on lines that no test runs. */
  readonly uncovered: readonly Mutation[];
  readonly total: number;
}

export interface SampleOptions {
  readonly count: number;
  readonly room: string | undefined;
  readonly kind?: string | undefined;
  readonly file: string | undefined;
  readonly seed: string;
  readonly coverage: Coverage;
  /** The tests to run for every mutant, instead of those that run its line. */
  readonly tests?: readonly string[] | undefined;
}

/**
 * In seconds of the tests' recorded times: a mutant that the likeliest tests don't notice in this time is unnoticed.
 */
const longestTests = 240;
/** The limit for pure tests, which run together in seconds. */
const mostQuick = 60;

export function sample({ count, room, kind, file, seed, coverage, tests }: SampleOptions): Sample {
  const files = filesOf(room).filter(one => one === (file ?? one));
  const all = files.flatMap(withoutEquivalents).filter(mutant => mutant.kind === (kind ?? mutant.kind));
  const drawn = shuffled(all, seed).slice(0, count);
  const near = tests === undefined ? nearTests(coverage) : () => [...tests];
  const mutations = drawn.map(mutant => asMutation(mutant, near(mutant)));
  return {
    chosen: mutations.filter(({ tests }) => tests.length > 0),
    uncovered: mutations.filter(({ tests }) => tests.length === 0),
    total: all.length,
  };
}

/** The share of noticed mutants, with its margin of error (Wilson's interval at 95 %). */
export function scoreOf(tried: number, missed: number): string {
  if (tried === 0) return 'nothing was tried';
  const [share, z] = [(tried - missed) / tried, 1.96];
  const centre = (share + z ** 2 / (2 * tried)) / (1 + z ** 2 / tried);
  const margin =
    (z / (1 + z ** 2 / tried)) * Math.sqrt((share * (1 - share)) / tried + z ** 2 / (4 * tried ** 2));
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`;
  const bounds = `${percent(centre - margin)} to ${percent(centre + margin)} with 95 % confidence`;
  return `${tried} mutants, ${missed} unnoticed: ${percent(share)} noticed (${bounds})`;
}

function withoutEquivalents(file: string): Mutant[] {
  const text = readFileSync(join(root, file), 'utf8');
  const [lines, known] = [text.split('\n'), loadEquivalents()];
  return mutantsOf(file, text).filter(mutant => !isEquivalent(mutant, lines, known));
}

/** Orders by the digest of seed and mutant, so that additions to the sources don't change the order of the rest. */
function shuffled(mutants: readonly Mutant[], seed: string): Mutant[] {
  const key = ({ file, kind, line, old, new: replacement, at }: Mutant) =>
    createHash('sha256')
      .update(JSON.stringify([seed, file, kind, line, old, replacement, at]))
      .digest('hex');
  const keyed = mutants.map(mutant => ({ mutant, order: key(mutant) }));
  return keyed.sort((a, b) => (a.order < b.order ? -1 : 1)).map(({ mutant }) => mutant);
}

function asMutation({ kind, line, ...change }: Mutant, tests: readonly string[]): Mutation {
  const short = (text: string) => text.replaceAll(/\s+/g, ' ').slice(0, 80);
  return {
    ...change,
    id: `${change.file}:${line}`,
    tests,
    guards: `${kind}: ${short(change.old)} → ${short(change.new)}`,
  };
}

/**
 * Pure tests first; then those listed for a guard of the file, or named after what the line says or after the file; then quick tests
 * that run few lines.
 */
function nearTests(coverage: Coverage): (mutant: Mutant) => string[] {
  const listed = listedTests();
  const breadth = breadthOf(coverage);
  return mutant => {
    const text = readFileSync(join(root, mutant.file), 'utf8');
    const words = wordsIn(mutant.file);
    const around = text.split('\n').slice(Math.max(0, mutant.line - 3), mutant.line + 2);
    const said = wordsIn(around.join(' '));
    const cost = (test: string) =>
      (listed.get(mutant.file)?.has(test) || [...wordsIn(test)].every(word => said.has(word)) ? 0 : 1_000) +
      ([...wordsIn(test)].some(word => words.has(word)) ? 0 : 300) +
      coverage.tests[test]!.seconds +
      breadth(test) / 200;
    const near = testsOfLine(coverage, mutant.file, mutant.line, text).sort((a, b) => cost(a) - cost(b));
    const quick = near.filter(needsNothing).slice(0, mostQuick);
    return [
      ...quick,
      ...withinTime(
        near.filter(test => !needsNothing(test)),
        coverage,
      ),
    ];
  };
}

/** In the singular; `singleSignOn` is three words. */
function wordsIn(text: string): Set<string> {
  const separated = text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase();
  return new Set(separated.split(/[^a-z]+/).map(word => word.replace(/s$/, '')));
}

function listedTests(): Map<string, Set<string>> {
  const listed = new Map<string, Set<string>>();
  for (const mutation of loadMutations(listFolder)) {
    for (const { file } of changesOf(mutation)) {
      const tests = listed.get(file) ?? new Set();
      for (const test of mutation.tests) tests.add(test);
      listed.set(file, tests);
    }
  }
  return listed;
}

/** The number of lines that a test runs. */
function breadthOf({ files }: Coverage): (test: string) => number {
  const breadth = new Map<string, number>();
  for (const { lines } of Object.values(files)) {
    for (const [test, run] of Object.entries(lines)) breadth.set(test, (breadth.get(test) ?? 0) + run.length);
  }
  return test => breadth.get(test) ?? 0;
}

function withinTime(tests: readonly string[], coverage: Coverage): string[] {
  let seconds = 0;
  return tests.filter((test, index) => {
    seconds += coverage.tests[test]!.seconds;
    return index < 2 || seconds <= longestTests;
  });
}
