/** Opens an address in the person's browser, if there is one. */
import { spawn } from 'node:child_process';
import type { Environment } from '../../service/settings/options.ts';

/** Returns whether it tried: a machine without a screen has no browser. */
export function browse(url: string, environment: Environment): boolean {
  const command = openerFor(environment);
  if (command === null || !process.stdout.isTTY) return false;
  const [program, ...args] = command;
  spawn(program!, [...args, url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref();
  return true;
}

function openerFor({ DISPLAY, WAYLAND_DISPLAY, SSH_CONNECTION }: Environment): readonly string[] | null {
  if (SSH_CONNECTION !== undefined) return null;
  if (process.platform === 'darwin') return ['open'];
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return DISPLAY === undefined && WAYLAND_DISPLAY === undefined ? null : ['xdg-open'];
}
