/**
 * The command in few files, as fast to start as its package could be: tests start it hundreds of times, and loading
 * the sources one by one is most of what that takes. What is bundled is named by the digest of its sources.
 */
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const kept = join(root, 'test/.built');
const variable = 'STRONGROOM_TEST_COMMAND';

/** Where lines are counted, those of the bundle are told from its map. */
const isCovered = process.env.NODE_V8_COVERAGE !== undefined;

/** Every file that begins a thread of its own. */
const threads = globSync('src/**/*-thread.ts', { cwd: root });

/** The command that tests start: the bundle, where the run made one. */
export function commandFile(): string {
  return process.env[variable] ?? join(root, 'bin/strongroom.js');
}

export async function buildCommand(): Promise<void> {
  const folder = join(kept, digestOfSources());
  if (!existsSync(folder)) await bundle(folder);
  process.env[variable] = join(folder, 'bin/strongroom.js');
}

async function bundle(folder: string): Promise<void> {
  const { rolldown } = await import('rolldown');
  const making = `${folder}.${process.pid}`;
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  cpSync(join(root, 'bin'), join(making, 'bin'), { recursive: true });
  symlinkSync(join(root, 'web'), join(making, 'web'));
  const made = await rolldown({
    cwd: root,
    input: ['src/main.ts', ...threads],
    platform: 'node',
    logLevel: 'silent',
  });
  // Beside one another, as the threads are looked for; two folders down, as the pages are.
  await made.write({ dir: join(making, 'dist/src'), format: 'esm', sourcemap: isCovered && 'inline' });
  await made.close();
  renameSync(making, folder);
}

function digestOfSources(): string {
  const hash = createHash('sha256').update(isCovered ? 'covered' : '');
  for (const file of globSync(['src/**/*.ts', 'bin/*', 'package*.json'], { cwd: root }).sort())
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex').slice(0, 32);
}
