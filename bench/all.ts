/**
 * Runs all benchmarks, with an earlier commit for comparison where possible:
 *
 *   npm run bench -- [COMMIT] [--short]
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { here } from './checkout.ts';

const { values, positionals } = parseArgs({
  options: { short: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [commit = 'HEAD~1'] = positionals;
const short = values.short ? ['--short'] : [];

const parts: readonly (readonly [title: string, file: string, ...args: readonly string[]])[] = [
  ['Vault reads, of plain node:http', 'vault-read.ts', ...short],
  [
    `Reads, a list, a change, a call, the start and idle memory, compared with ${commit}`,
    'before-and-after.ts',
    commit,
  ],
  ['Evenness', 'evenness.ts'],
  [`Changes, compared with ${commit}`, 'writes.ts', commit],
  [`Lists, searches and first reads, compared with ${commit}`, 'lists.ts', commit],
  ['Under pressure', 'overload.ts', ...short],
  [`Under pressure, ${commit}`, 'overload.ts', '--of', commit, ...short],
];

for (const [title, file, ...args] of parts) {
  process.stdout.write(`\n## ${title}\n\n`);
  const { status } = spawnSync(process.execPath, [`bench/${file}`, ...args], { cwd: here, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
