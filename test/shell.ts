/** Commands as a reader of the guides runs them: by a shell. Not every machine has curl, so it is brought along. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const curl = `curl() { '${process.execPath}' '${fileURLToPath(new URL('./curl.ts', import.meta.url))}' "$@"; }`;

/** What the command printed. */
export async function shell(command: string, env: Record<string, string> = {}): Promise<string> {
  return (await run('sh', ['-c', `${curl}\n${command}`], { env })).stdout;
}
