/** Output for people: names without control characters, colour only on a terminal, and JSON on request. */
import { text } from '../../service/settings/options.ts';

/** Names come from others: characters that would move the cursor, or hide or reverse text, are shown as numbers. */
export function printable(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, found => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}

export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** What a command says once it is done: its answer as JSON, or a line. */
export function done(json: boolean, answer: unknown, line: string): void {
  if (json) printJson(answer);
  else note(line);
}

/** A list as JSON, or as a table. */
export function printList<T>(json: boolean, all: readonly T[], rowOf: (one: T) => readonly string[]): void {
  if (json) printJson(all);
  else process.stdout.write(table(all.map(rowOf)));
}

/** Prints one line to standard error. Its text, such as a path or a service's message, can't control the terminal. */
export function note(line: string): void {
  process.stderr.write(`strongroom: ${printable(line)}\n`);
}

type Colour = 'green' | 'red' | 'yellow' | 'bold';
const codes: Readonly<Record<Colour, string>> = { green: '32', red: '31', yellow: '33', bold: '1' };

/** A non-empty `NO_COLOR` turns colour off (no-color.org). */
export function painter(environment: Readonly<Record<string, string | undefined>>) {
  const plain = !process.stdout.isTTY || (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb';
  return (colour: Colour, text: string) => (plain ? text : `\u001b[${codes[colour]}m${text}\u001b[0m`);
}

/** Columns as wide as their contents; the last one has no padding. */
export function table(rows: readonly (readonly string[])[]): string {
  const shown = rows.map(row => row.map(printable));
  const widths = (shown[0] ?? []).map((_, at) => Math.max(...shown.map(row => row[at]!.length)));
  return shown
    .map(
      row =>
        `${row
          .map((cell, at) => cell.padEnd(widths[at]!))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Unlike a redirection, it creates a file that only its owner can read. */
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
