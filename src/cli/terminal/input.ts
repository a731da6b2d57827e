/** Reads values from standard input, a file, a generator, a hidden prompt or, with a warning, an argument. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { note } from './terminal.ts';

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Letters and digits, which need no quoting anywhere. */
export function generated(length: number): string {
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}

export async function valueFrom(given: string | undefined, prompt: string): Promise<string> {
  if (given === undefined && process.stdin.isTTY) return prompted(prompt);
  // The line break at the end of piped input is not part of the value.
  if (given === undefined || given === '-') return (await standardInput()).replace(/\r?\n$/, '');
  if (given.startsWith('@')) return contentOf(given.slice(1));
  note(
    'a value in an argument is visible to other users and stays in the shell’s history: use standard input or @FILE',
  );
  return given;
}

export async function standardInput(): Promise<string> {
  return textOf(await bytesOfInput(), 'standard input');
}

export async function bytesOfInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** Every byte, including a newline at the end. */
export function contentOf(file: string): string {
  return textOf(bytesOf(file), 'the file');
}

export function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Refusal(`the file can’t be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

export function textOf(bytes: Buffer, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal(`${what} is not UTF-8 text: encode binary data as base64 first`);
  }
}

/** Asks at the terminal without showing the input. */
export async function prompted(prompt: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new UsageError('a value is required: from standard input, @FILE or --generate');
  // Set before the prompt, so that input is hidden as soon as it appears.
  process.stdin.setRawMode(true);
  process.stderr.write(prompt);
  try {
    return await typed();
  } finally {
    process.stdin.setRawMode(false);
    process.stdin.pause();
    process.stderr.write('\n');
  }
}

async function typed(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    for (const letter of chunk as string) {
      if (letter === '\r' || letter === '\n') return text;
      if (letter === '\u0003' || letter === '\u0004') throw new Refusal('cancelled', 130);
      text = letter === '\u007f' ? text.slice(0, -1) : text + letter;
    }
  }
  return text;
}
