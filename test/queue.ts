/**
 * One process of a test run: it takes a file from those that are left, runs it, and takes the next. Every file loads the
 * whole service, which is slow until the runtime knows it; here that is paid once, and not by each file. A file is a
 * suite of its own with its own hooks, and what it left running is stopped before the next one begins.
 */
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { after, describe } from 'node:test';
import { stopWhatIsLeft } from './ending.ts';
import { between, type Times, timesUntilNow } from './processor-time.ts';

const require = createRequire(import.meta.url);
/** For a file that hangs: the longest one takes minutes, and on a machine that others use several times as long. */
export const longestFile = 40 * 60_000;

const list = (folder: string) => join(folder, 'files.json');
const ended = (program: string) => `${program}.ended`;
const mark = (folder: string, at: number, what: 'taken' | 'done') => join(folder, `${at}.${what}`);

/** The files of a run, and so many programs that take them one after another; `queue` is this file in their checkout. */
export function makeQueue(
  folder: string,
  files: readonly string[],
  processes: number,
  queue = import.meta.url,
): string[] {
  writeFileSync(list(folder), JSON.stringify(files));
  const call = `import { runQueue } from '${queue}';\nawait runQueue('${folder}');\n`;
  const programs = Array.from({ length: processes }, (_, at) => join(folder, `process-${at + 1}.test.ts`));
  for (const program of programs) writeFileSync(program, call);
  return programs;
}

/** What each file took that a process came to the end of; by its number, as the names of its databases are. */
export function timesOfFiles(folder: string): readonly (Times | null)[] {
  return filesIn(folder).map((_, at) => {
    const done = mark(folder, at, 'done');
    return existsSync(done) ? (JSON.parse(readFileSync(done, 'utf8')) as Times | null) : null;
  });
}

/** What no process came to the end of: it ended in the middle of it, or all of them before it. */
export function unfinished(folder: string): string[] {
  return filesIn(folder).filter((_, at) => !existsSync(mark(folder, at, 'done')));
}

/** Whether this program came to the end of the queue: if it failed all the same, none of its files tells why. */
export function hasEnded(program: string): boolean {
  return existsSync(ended(program));
}

export async function runQueue(folder: string): Promise<void> {
  for (const [at, file] of filesIn(folder).entries()) {
    if (!take(mark(folder, at, 'taken'))) continue;
    variables[databases] = environment[databases] = `${prefix}_${at}`;
    const before = timesUntilNow();
    await run(file);
    writeFileSync(mark(folder, at, 'done'), JSON.stringify(between(before, timesUntilNow())));
  }
  writeFileSync(ended(process.argv[1]!), '');
}

function filesIn(folder: string): string[] {
  return JSON.parse(readFileSync(list(folder), 'utf8')) as string[];
}

/** Whoever makes this file has it. */
function take(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

const databases = 'STRONGROOM_TEST_DATABASES';
const prefix = process.env[databases] ?? 'test';
const environment = process.env;
const variables = { ...environment };
const folder = process.cwd();

/** Puts the environment and the folder of the process back, and names what a file left changed. */
function putBack(): string[] {
  const names = new Set([...Object.keys(variables), ...Object.keys(process.env)]);
  const changed = [...names].filter(name => process.env[name] !== variables[name]);
  if (process.cwd() !== folder) changed.push('the current folder');
  process.env = environment;
  for (const name of Object.keys(environment)) if (!(name in variables)) delete environment[name];
  Object.assign(environment, variables);
  process.chdir(folder);
  return changed;
}

function run(file: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  describe(relative(process.cwd(), file), { timeout: longestFile }, () => {
    try {
      // At once, as `import()` would not: what a file defines belongs to the suite that is being defined then.
      require(file);
    } finally {
      after(async () => {
        await stopWhatIsLeft();
        const changed = putBack();
        resolve();
        if (changed.length > 0) throw new Error(`left changed for the next file: ${changed.join(', ')}`);
      });
    }
  });
  return promise;
}
