/**
 * Writes names and values as text for other programs. Each format writes a value so that its reader gets the same
 * bytes, or refuses it by name, because a truncated or expanded value is worse than none.
 */
import { randomBytes } from 'node:crypto';
import { isVariable } from '../../contract/variable-names.ts';
import { Refusal } from '../../service/settings/report.ts';
import { printable } from '../terminal/terminal.ts';

export const formats = ['dotenv', 'shell', 'json', 'yaml', 'docker', 'kubernetes', 'github'] as const;
export type Format = (typeof formats)[number];

interface Style {
  /** The quoting rules of a `.env` file. */
  readonly dialect: 'node' | 'python';
  /** The name of a Kubernetes Secret. */
  readonly name: string;
  readonly namespace: string | null;
}

type Pair = readonly [name: string, value: string];
type Write = (pairs: readonly Pair[], style: Style) => string;

const writers: Readonly<Record<Format, Write>> = {
  dotenv: (pairs, { dialect }) =>
    linesOf(
      pairs,
      (name, value) => `${name}=${dialect === 'node' ? nodeQuoted(name, value) : pythonQuoted(name, value)}`,
    ),
  shell: pairs => linesOf(pairs, (name, value) => `export ${name}=${shellQuoted(name, value)}`),
  json: pairs => `${JSON.stringify(Object.fromEntries(pairs), null, 2)}\n`,
  yaml: pairs =>
    pairs.length === 0
      ? '{}\n'
      : pairs.map(([name, value]) => `${yamlQuoted(name)}: ${yamlQuoted(value)}\n`).join(''),
  docker: pairs => linesOf(pairs, dockerLine),
  kubernetes: kubernetesSecret,
  github: pairs => linesOf(pairs, githubLines),
};

export function write(format: Format, pairs: readonly Pair[], style: Style): string {
  return writers[format](pairs, style);
}

function linesOf(pairs: readonly Pair[], line: (name: string, value: string) => string): string {
  return pairs.map(([name, value]) => `${line(variable(name), value)}\n`).join('');
}

function variable(name: string): string {
  if (isVariable(name)) return name;
  throw new Refusal(
    `${printable(JSON.stringify(name))} can’t be the name of a variable: use --format json or yaml`,
  );
}

function refuse(name: string, reason: string): never {
  throw new Refusal(`${printable(name)} can’t be written in this format: ${reason}`);
}

const needsNoQuotes = /^[\w./:@%+,=^~-]+$/;

/** Most readers agree on single quotes; a value that contains them needs one of the other two kinds. */
function nodeQuoted(name: string, value: string): string {
  if (needsNoQuotes.test(value) || value === '') return value;
  if (/\r/.test(value)) refuse(name, 'a carriage return is read as a newline');
  if (!value.includes("'")) return `'${value}'`;
  if (!/"|\\n/.test(value)) return `"${value}"`;
  if (!value.includes('`')) return `\`${value}\``;
  return refuse(name, 'it contains all three kinds of quotes; use --format json or shell');
}

/** In this dialect, a backslash escapes within single quotes, and a variable in braces is always expanded. */
function pythonQuoted(name: string, value: string): string {
  if (/\$\{|\r/.test(value))
    refuse(name, 'python-dotenv would expand ${, and reads a carriage return as a newline');
  if (needsNoQuotes.test(value) || value === '') return value;
  return `'${value.replace(/[\\']/g, '\\$&')}'`;
}

function shellQuoted(name: string, value: string): string {
  if (value.includes('\0')) refuse(name, 'it contains a zero byte');
  return `'${value.replaceAll("'", `'\\''`)}'`;
}

const longestDockerLine = 64 * 1024 - 1;

/** Docker does not support quotes: a line is read as it is. */
function dockerLine(name: string, value: string): string {
  const line = `${name}=${value}`;
  if (/[\r\n\0]/.test(value)) refuse(name, 'docker’s files can’t contain a newline or a zero byte');
  if (Buffer.byteLength(line) > longestDockerLine) refuse(name, 'docker can’t read a line that long');
  return line;
}

/** A JSON string is a valid YAML string, except for characters that YAML requires to be escaped. */
function yamlQuoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function kubernetesSecret(pairs: readonly Pair[], { name, namespace }: Style): string {
  const bad = pairs.find(([key]) => !/^[-._a-zA-Z0-9]{1,253}$/.test(key));
  if (bad !== undefined) refuse(bad[0], 'a key must consist of letters, digits, -, _ and .');
  const data = pairs.map(
    ([key, value]) => `  ${yamlQuoted(key)}: ${Buffer.from(value).toString('base64') || '""'}\n`,
  );
  const metadata = `  name: ${yamlQuoted(name)}\n${namespace === null ? '' : `  namespace: ${yamlQuoted(namespace)}\n`}`;
  return `apiVersion: v1\nkind: Secret\nmetadata:\n${metadata}type: Opaque\ndata:${data.length === 0 ? ' {}\n' : `\n${data.join('')}`}`;
}

/**
 * For `$GITHUB_ENV`. The delimiter can't be guessed, so that no value can end its own text and set another variable.
 */
function githubLines(name: string, value: string): string {
  if (value.includes('\r')) refuse(name, 'the runner drops carriage returns');
  const delimiter = `strongroom_${randomBytes(16).toString('hex')}`;
  return `${name}<<${delimiter}\n${value}\n${delimiter}`;
}

/** Commands that make the runner mask the values in its log, line by line, as the runner requires. */
export function githubMasks(values: readonly string[]): string {
  const lines = values.flatMap(value => value.split(/\r?\n/)).filter(line => line.trim() !== '');
  return lines.map(line => `::add-mask::${line.replaceAll('%', '%25')}\n`).join('');
}
