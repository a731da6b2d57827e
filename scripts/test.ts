/**
 * Every test, a few files at a time, or the files that are named. What fails in company runs again by itself, on a
 * machine that does nothing else: only what fails there too is a failure, and what does not is named as unsteady, to
 * be mended. A machine that is taken away from us for seconds lets the service's own time limits strike, which is what
 * they are for; that tells nothing about the code.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

/** More than this is no accident of the machine. */
const mostUnsteady = 20;
const longestTest = 15 * 60_000;

const folder = mkdtempSync(join(tmpdir(), 'strongroom-failed-'));
try {
  process.exitCode = await testAll(process.argv.slice(2));
} finally {
  rmSync(folder, { recursive: true });
}

async function testAll(named: readonly string[]): Promise<number> {
  const first = await run(named.length > 0 ? named : ['test/**/*.test.ts'], 3);
  if (first.code === 0 || first.failed.length === 0 || first.failed.length > mostUnsteady) return first.code;
  console.log(`\nFailed among others, and run again alone:\n${listed(first.failed)}\n`);
  const second = await run(first.failed, 1);
  const unsteady = first.failed.filter(file => !second.failed.includes(file));
  if (second.code === 0) console.log(`\nUnsteady: failed among others, passed alone:\n${listed(unsteady)}`);
  return second.code;
}

interface Run {
  readonly code: number;
  readonly failed: readonly string[];
}

async function run(files: readonly string[], atOnce: number): Promise<Run> {
  const failures = join(folder, `at-${atOnce}`);
  const reporters = [
    ['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ['--test-reporter=./test/failed-files.ts', `--test-reporter-destination=${failures}`],
  ].flat();
  const limits = [`--test-concurrency=${atOnce}`, `--test-timeout=${longestTest}`];
  const args = ['--test', ...limits, '--test-global-setup=test/postgres.ts', ...reporters, ...files];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  const [code] = await once(child, 'exit');
  return { code: code ?? 1, failed: readFileSync(failures, 'utf8').split('\n').filter(Boolean) };
}

function listed(files: readonly string[]): string {
  return files.map(file => `  ${relative(process.cwd(), file)}`).join('\n');
}
