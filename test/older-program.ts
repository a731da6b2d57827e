/** The program as an earlier commit has it, taken from the history of this checkout, and run as its users ran it. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { atTheLatest } from './ending.ts';
import { dataFolder } from './postgres.ts';

const root = new URL('..', import.meta.url).pathname;

export interface OlderProgram {
  /** Serves until the end of the file. */
  serve(
    flags: readonly string[],
  ): Promise<{ readonly url: string; readonly said: string[]; stop(): Promise<void> }>;
  run(args: readonly string[]): string;
  remove(): Promise<void>;
}

/** Whether this checkout has a history that goes back so far: a tarball has none, and a shallow clone too little. */
export function hasCommit(commit: string): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

export async function olderProgram(commit: string): Promise<OlderProgram> {
  const folder = await dataFolder();
  const archive = execFileSync('git', ['archive', commit, 'bin', 'src', 'package.json'], {
    cwd: root,
    maxBuffer: 1 << 28,
  });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const program = join(folder, 'bin', 'strongroom.js');
  return {
    run: args => execFileSync(process.execPath, [program, ...args], { encoding: 'utf8' }),
    serve: async flags => {
      const child = spawn(process.execPath, [program, 'serve', '--port', '0', ...flags], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const stop = atTheLatest(async () => {
        if (child.exitCode !== null || !child.kill('SIGTERM')) return;
        await once(child, 'exit');
      });
      const said: string[] = [];
      createInterface(child.stderr).on('line', line => said.push(line));
      const url = await new Promise<string>((resolve, reject) => {
        createInterface(child.stdout).on('line', line => {
          const [, found] = /listening on (http:\S+)/.exec(line) ?? [];
          if (found !== undefined) resolve(found);
        });
        child.once('exit', () => reject(new Error(said.join('\n'))));
      });
      return { url, said, stop };
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
