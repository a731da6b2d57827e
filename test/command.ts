/** The command as its users run it: real processes, real exit codes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { commandFile } from './built-command.ts';
import { atTheLatest } from './ending.ts';

const command = commandFile();

export interface Result {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Started {
  readonly child: ChildProcess;
  /** Where it serves. Rejects with what it said where it ended instead. */
  readonly url: Promise<string>;
  readonly ended: Promise<Result>;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A program to run it under, such as strace. */
  readonly under?: readonly string[];
  /** Whether the test writes to its standard input. */
  readonly fed?: boolean;
}

export function start(
  args: readonly string[],
  { env = {}, cwd, under = [], fed = false }: CommandOptions = {},
): Started {
  const { flags, database } = withoutDatabase(args);
  const [program = '', ...rest] = [...under, process.execPath, command, ...flags];
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(STRONGROOM_|NODE_TEST|NODE_OPTIONS)/.test(name),
  );
  const child = spawn(program, rest, {
    env: { ...Object.fromEntries(inherited), ...database, ...env },
    stdio: [fed ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = '';
  let stderr = '';
  child.stdout!.on('data', chunk => {
    stdout += chunk;
  });
  child.stderr!.on('data', chunk => {
    stderr += chunk;
  });
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, stdout, stderr }) as Result);
  const served = new Promise<string>(resolve => {
    child.stdout!.on('data', () => {
      const [, url] = /^(?:\{.*"message":")?Strongroom is listening on ([^\s"]+)/m.exec(stdout) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
  const url = Promise.race([
    served,
    ended.then(({ code, stderr }) => Promise.reject(new Error(`it ended with ${code}: ${stderr}`))),
  ]);
  url.catch(() => {});
  atTheLatest(() => child.kill('SIGKILL'));
  return { child, url, ended };
}

/** The database's password goes by the environment, as it should; `--database-url=URL` in one piece stays a flag. */
function withoutDatabase(args: readonly string[]) {
  const at = args.indexOf('--database-url');
  if (at < 0) return { flags: args, database: {} };
  return { flags: args.toSpliced(at, 2), database: { STRONGROOM_DATABASE_URL: args[at + 1]! } };
}

/** Until it ends; one that serves, where a refusal was expected, is ended. */
export function run(args: readonly string[], options: CommandOptions = {}): Promise<Result> {
  const { child, url, ended } = start(args, options);
  url.then(
    () => child.kill('SIGTERM'),
    () => {},
  );
  return ended;
}

/** The owner's key of a new organization in a data folder, by the command itself. */
export async function setup(place: readonly string[], options: CommandOptions = {}): Promise<string> {
  const args = ['setup', ...place, '--plan', 'enterprise', '--json'];
  const { code, stdout, stderr } = await run(args, options);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout).api_key;
}

export async function stop({ child, ended }: Started): Promise<Result> {
  child.kill('SIGTERM');
  return ended;
}
