/**
 * Runs a program in place of this command: with the same terminal, signals and exit. If its output is masked, its pipes
 * pass through this process; nothing else changes.
 */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { accessSync, constants as files, readFileSync, statSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, resolve } from 'node:path';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly command: readonly string[];
  /** The PATH for finding it: the program's own PATH may differ or be missing. */
  readonly path: string | undefined;
  readonly environment: Environment;
  /** Null for a stream that is passed on unchanged. */
  readonly masks: { readonly stdout: Transform | null; readonly stderr: Transform | null };
}

export interface Running {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

export function startProgram({ command, path, environment, masks }: Program): Running {
  const [name, ...args] = command as readonly [string, ...string[]];
  const stdio: StdioOptions = [
    'inherit',
    masks.stdout ? 'pipe' : 'inherit',
    masks.stderr ? 'pipe' : 'inherit',
  ];
  const child = spawn(executable(name, path), args, { env: environment, stdio, argv0: name });
  const piped = [
    masks.stdout && pipeline(child.stdout!, masks.stdout, process.stdout, { end: false }),
    masks.stderr && pipeline(child.stderr!, masks.stderr, process.stderr, { end: false }),
  ];
  // If the reader closes the pipe, the program notices it as it would without this process.
  const passed = Promise.all(piped.map(pipe => pipe?.catch(() => {})));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', error =>
      reject(new Refusal(`${name} can’t be started (${(error as NodeJS.ErrnoException).code})`, 126)),
    );
    child.on('exit', (code, signal) => passed.then(() => resolve({ code, signal })));
  });
  ended.catch(() => {}); // The error is handled by the caller that awaits it, however late.
  return { process: child, ended };
}

/** Refuses with the exit codes of shells. An empty or relative folder is resolved against the current one. */
function executable(name: string, path = '/usr/bin:/bin'): string {
  if (name.includes('/')) return name;
  const found = path
    .split(delimiter)
    .map(folder => resolve(folder, name))
    .find(isExecutable);
  if (found === undefined) throw new Refusal(`there is no program ${JSON.stringify(name)} in PATH`, 127);
  return found;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, files.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const forwarded = ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
const typed = new Set<NodeJS.Signals>(['SIGINT', 'SIGQUIT']);

/**
 * Forwards signals until the returned function is called. Signals typed at a terminal reach the program directly.
 * `early` is called with those that arrive while there is no program.
 */
export function forwardSignals(
  target: () => ChildProcess | undefined,
  early: (signal: NodeJS.Signals) => void,
): () => void {
  const pass = (signal: NodeJS.Signals) => {
    const child = target();
    if (child === undefined) early(signal);
    else if (!typed.has(signal) || !inForeground()) child.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, pass);
  return () => {
    for (const signal of forwarded) process.off(signal, pass);
  };
}

/** Whether the terminal sends typed signals to our process group. */
function inForeground(): boolean {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[2] === fields[5];
  } catch {
    return process.stdin.isTTY || process.stderr.isTTY;
  }
}

/** Ends like the program: with its exit code, or by the same signal. */
export function endAs({ code, signal }: Ended): never {
  if (signal === null) process.exit(code ?? 1);
  // The runtime handles some signals itself; adding and removing a listener restores the system's default action.
  const none = () => {};
  if (signal !== 'SIGKILL' && signal !== 'SIGSTOP') process.on(signal, none).off(signal, none);
  process.kill(process.pid, signal);
  process.exit(128 + constants.signals[signal]);
}
