/**
 * A program in our place: the same terminal, the same signals, the same exit. Where output is masked, its pipes go
 * through us, and nothing else changes.
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
  /** Where to look for it: the program's own path may be another, or none. */
  readonly path: string | undefined;
  readonly environment: Environment;
  /** Null for a stream that is passed on as it is. */
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
  // Whoever reads us has gone: the pipe is closed, and the program learns it as it would without us.
  const passed = Promise.all(piped.map(pipe => pipe?.catch(() => {})));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', error =>
      reject(new Refusal(`${name} can’t be started (${(error as NodeJS.ErrnoException).code})`, 126)),
    );
    child.on('exit', (code, signal) => passed.then(() => resolve({ code, signal })));
  });
  ended.catch(() => {}); // Whoever waits for it hears it, however late.
  return { process: child, ended };
}

/** Refused with the codes that shells give. A folder that is empty, or not absolute, is one of the current folder. */
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

/** Until it is called off. What is typed at a terminal reaches the program by itself, and is not sent again. */
export function forwardSignals(target: () => ChildProcess | undefined): () => void {
  const pass = (signal: NodeJS.Signals) => {
    if (!typed.has(signal) || !inForeground()) target()?.kill(signal);
  };
  for (const signal of forwarded) process.on(signal, pass);
  return () => {
    for (const signal of forwarded) process.off(signal, pass);
  };
}

/** Whether the terminal sends what is typed to our process group. */
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

/** Ends as the program ended: by its code, or by the same signal. */
export function endAs({ code, signal }: Ended): never {
  if (signal === null) process.exit(code ?? 1);
  // The runtime ignores some signals and acts on others; a listener that goes leaves what the system does by default.
  const none = () => {};
  if (signal !== 'SIGKILL' && signal !== 'SIGSTOP') process.on(signal, none).off(signal, none);
  process.kill(process.pid, signal);
  process.exit(128 + constants.signals[signal]);
}
