/** Prints secrets to standard output, or to a file that only its owner can read, unlike with a redirection. */
import { text } from '../../service/settings/options.ts';

export const outOption = { out: text('FILE', 'write to FILE, which only you can read') };

export async function printTo(file: string | null, content: string): Promise<void> {
  if (file === null) process.stdout.write(content);
  else await (await import('../../base/durable-file.ts')).writeDurably(file, content);
}
