/** Prints secrets to standard output, or to a file that only its owner can read, unlike with a redirection. */
import { text } from '../../service/settings/options.ts';
import { note } from './terminal.ts';

export const outOption = { out: text('FILE', 'write to FILE, which only you can read') };

export async function printTo(file: string | null, content: string): Promise<void> {
  if (file === null) process.stdout.write(content);
  else await (await import('../../base/durable-file.ts')).writeDurably(file, content);
}

interface OutputValues {
  readonly json: boolean;
  readonly out?: string | null;
}

/** Prints what was created: as JSON, or the one line that the next program needs, and what it is to the person. */
export async function printCreated(values: OutputValues, created: object, line: string, said: string | null) {
  if (!values.json && said !== null) note(said);
  await printTo(values.out ?? null, `${values.json ? JSON.stringify(created) : line}\n`);
}
