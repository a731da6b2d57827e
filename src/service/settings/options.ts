/**
 * The grammar of flags: their values, environment variables (`--tls-cert`, `STRONGROOM_TLS_CERT`) and lines in the help.
 * It imports very little, because every command waits for it.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { isThisMachine } from '../../base/this-machine.ts';
import { counted, UsageError } from './report.ts';

export interface Option<T> {
  /** The placeholder for the value in the help; a flag without one is a switch. */
  readonly value?: string;
  /** One letter, as in `-i`. */
  readonly short?: string;
  /** May be repeated: the values are joined by commas or by line breaks. Any other flag may be given only once. */
  readonly list?: 'commas' | 'lines';
  readonly help: string;
  readonly fallback: T;
  /** Throws an error that says which values are valid. */
  readonly parse: (text: string) => T;
}

export type Options = Readonly<Record<string, Option<unknown>>>;
export type ValuesOf<O extends Options> = {
  readonly [Name in keyof O]: O[Name] extends Option<infer T> ? T : never;
};

export const text = (value: string, help: string, parse = notEmpty): Option<string | null> => ({
  value,
  help,
  fallback: null,
  parse,
});

function notEmpty(given: string): string {
  if (given === '') throw new Error('must not be empty');
  return given;
}

export const textOr = (fallback: string, value: string, help: string): Option<string> => ({
  value,
  help,
  fallback,
  parse: notEmpty,
});

export const flag = (help: string): Option<boolean> => ({
  help,
  fallback: false,
  parse: given => {
    if (!['true', 'false', '1', '0'].includes(given)) throw new Error('must be true or false');
    return given === 'true' || given === '1';
  },
});

export const whole = (
  value: string,
  help: string,
  fallback: number,
  least: number,
  most: number,
): Option<number> => ({
  value,
  help,
  fallback,
  parse: given => {
    if (!/^\d{1,9}$/.test(given) || Number(given) < least || Number(given) > most) {
      throw new Error(`must be a whole number from ${least} to ${most}`);
    }
    return Number(given);
  },
});

/** Values separated by commas; the flag may also be repeated. `rule` says which values are valid. */
export const list = (
  value: string,
  isValid: (part: string) => boolean,
  rule: string,
  help: string,
): Option<readonly string[]> => ({
  value: `${value}[,${value}]`,
  list: 'commas',
  help,
  fallback: [],
  parse: given => {
    const parts = given.split(',').map(part => part.trim());
    if (!parts.every(isValid)) throw new Error(rule);
    return parts;
  },
});

export const names = (help: string) =>
  list('NAME', name => name !== '', 'must be names separated by commas', help);

/** May be repeated, and each value may contain commas. In the environment, the values are separated by line breaks. */
export const repeated = <T>(
  value: string,
  help: string,
  parse: (given: string) => T,
): Option<readonly T[]> => ({
  value,
  list: 'lines',
  help: `${help}; can be repeated`,
  fallback: [],
  parse: given => given.split('\n').map(parse),
});

export const choice = <T extends string>(help: string, values: readonly T[]): Option<T | null> => ({
  value: values.join('|'),
  help,
  fallback: null,
  parse: given => {
    if (!values.includes(given as T)) throw new Error(`must be one of: ${values.join(', ')}`);
    return given as T;
  },
});

export function isHttpUrl(given: string): boolean {
  const url = URL.parse(given);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === '' && url.password === '';
}

export const serviceUrl: Option<string | null> = {
  value: 'URL',
  help: 'the address of the service',
  fallback: null,
  parse: given => {
    if (!isHttpUrl(given)) throw new Error('must be an address such as https://vault.example.com');
    const { protocol, hostname } = new URL(given);
    if (protocol === 'http:' && !isThisMachine(hostname)) {
      throw new Error('must begin with https://, because an access key is sent there');
    }
    return given.replace(/\/+$/, '').replace(/\/mcp$/, '');
  },
};

const unixSocket = /^unix:(\/.+)$/;

/** The file of the socket in an address such as `unix:/run/strongroom.sock`; null for any other address. */
export function socketIn(address: string): string | null {
  return unixSocket.exec(address)?.[1] ?? null;
}

/** For commands that can also use a Unix socket on this machine. */
export const serviceAddress: Option<string | null> = {
  ...serviceUrl,
  help: 'the address of the service, or unix:/FILE for its Unix socket',
  parse: given => (socketIn(given) === null ? serviceUrl.parse(given) : given),
};

export interface Environment {
  readonly [name: string]: string | undefined;
}

/** The values of all options: the flag, its environment variable, or the fallback. */
export function readOptions<O extends Options>(
  options: O,
  args: readonly string[],
  environment: Environment,
): ValuesOf<O> {
  return readCommand(options, args, environment, 0).values;
}

/** The same, with at most `most` arguments that are not flags. */
export function readCommand<O extends Options>(
  options: O,
  args: readonly string[],
  environment: Environment,
  most: number,
): { readonly values: ValuesOf<O>; readonly positionals: readonly string[] } {
  const { given, positionals } = parseFlags(options, args, most > 0);
  // An argument may be a secret value in the wrong place, so it is not repeated.
  if (positionals.length > most)
    throw new UsageError(`the command takes at most ${counted(most, 'argument')}`);
  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(options)) {
    const twin = environmentTwin(name);
    const [source, value] =
      given[name] === undefined ? [twin, environment[twin]] : [`--${name}`, given[name]];
    values[name] = value === undefined ? option.fallback : parseValue(option, source, value);
  }
  return { values: values as ValuesOf<O>, positionals };
}

export function environmentTwin(name: string): string {
  return `STRONGROOM_${name.toUpperCase().replaceAll('-', '_')}`;
}

function parseFlags(options: Options, args: readonly string[], allowPositionals: boolean) {
  const entries = Object.entries(options).map(([name, { value, short }]) => {
    const type = value === undefined ? 'boolean' : 'string';
    return [name, { type, multiple: true, ...(short === undefined ? {} : { short }) }] as const;
  });
  const { values, positionals } = parsed(args, Object.fromEntries(entries), allowPositionals);
  const given = Object.entries(values).map(
    ([name, all]) => [name, oneOf(name, options[name]!, all)] as const,
  );
  return { given: Object.fromEntries(given), positionals };
}

interface Parsed {
  readonly values: Record<string, readonly unknown[]>;
  readonly positionals: readonly string[];
}

function parsed(args: readonly string[], options: ParseArgsOptionsConfig, allowPositionals: boolean) {
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals }) as Parsed;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [sentence] = message.split(/\.\s/);
    throw new UsageError(
      code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION'
        ? `${sentence!.replace('Unknown option', 'unknown flag')}: see --help`
        : sentence,
    );
  }
}

/** Refuses a repeated flag, so that no value is silently ignored. */
function oneOf(name: string, { list }: Option<unknown>, values: readonly unknown[]): string {
  if (values.length > 1 && list === undefined) throw new UsageError(`--${name} can be given only once`);
  return values.join(list === 'lines' ? '\n' : ',');
}

function parseValue(option: Option<unknown>, source: string, value: string): unknown {
  try {
    return option.parse(value);
  } catch (error) {
    throw new UsageError(`${source} ${(error as Error).message}`);
  }
}

/** The description of a command for its help. */
interface Described {
  readonly usage: string;
  readonly about: string;
  readonly more?: string;
  readonly options: Options;
}

const column = 36;

/** A flag and its help; a flag that is too long for its column gets a separate line. */
function helpLine(name: string, { value, help, short }: Option<unknown>): string {
  const head = `  ${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
  return head.length > column ? `${head}\n${' '.repeat(column)} ${help}` : `${head.padEnd(column)} ${help}`;
}

export function helpFor({ usage, about, more, options }: Described): string {
  const named = Object.keys(options);
  const lines = Object.entries(options).map(([name, option]) => helpLine(name, option));
  const [example] = named;
  const flags =
    example === undefined
      ? ''
      : `\n${lines.join('\n')}\n\nEvery flag can also be set in the environment: --${example} is ${environmentTwin(example)}. The flag wins.\n`;
  const end = more === undefined ? '' : `\n${more}`;
  return `${about}\n\nUsage: strongroom ${usage}\n${flags}${end}`;
}
