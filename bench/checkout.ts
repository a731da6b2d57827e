/** A temporary checkout of another commit, with the installed packages of this one. */
import { execFileSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = fileURLToPath(new URL('..', import.meta.url));

export const commandIn = (checkout: string): string => join(checkout, 'bin', 'strongroom.js');

export function checkOut(commit: string, folder: string): { readonly path: string; remove(): void } {
  const path = join(folder, 'checkout');
  execFileSync('git', ['worktree', 'add', '--detach', path, commit], { cwd: here, stdio: 'ignore' });
  symlinkSync(join(here, 'node_modules'), join(path, 'node_modules'));
  return {
    path,
    remove: () => execFileSync('git', ['worktree', 'remove', '--force', path], { cwd: here }),
  };
}

/** Creates an organization without a limit with that checkout's own command. Returns its owner's API key. */
export function setUp(command: string, place: readonly string[], organization = 'Bench'): string {
  const args = [command, 'setup', ...place, '--organization', organization, '--plan', 'enterprise', '--json'];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })).api_key;
}
