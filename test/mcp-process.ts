/** `strongroom mcp` as a client starts it, with nothing of this process's environment but where programs are. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { commandFile } from './built-command.ts';

export const strongroom = commandFile();

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Until it ends; its input is what is given, and then no more. */
export async function strongroomMcp(
  env: Readonly<Record<string, string>>,
  args: readonly string[],
  input = '',
): Promise<Ended> {
  const child = spawn(process.execPath, [strongroom, 'mcp', ...args], {
    env: { PATH: process.env.PATH!, ...env },
  });
  // One that refuses to start does not read.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, stdout, stderr };
}
