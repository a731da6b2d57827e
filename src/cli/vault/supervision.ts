/** What a program gets from the vault, and when: at the start, from what was kept, or again after a change. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { Away, RefusedRequest } from '../connection/remote.ts';
import type { Settings } from '../connection/settings.ts';
import { type Snapshot, vaultOf, wholeVault } from '../connection/vaults.ts';
import { note } from '../terminal/terminal.ts';
import { type Ended, forwardSignals, type Running, startProgram } from './child.ts';
import { environmentFor, type Given } from './environment.ts';
import type { RunValues } from './run-options.ts';

/** Revoked or expired, restricted, or of a vault that is gone. */
const refusals = new Set([401, 403, 404]);

export interface ValueSource {
  first(): Promise<Given>;
  /** Null while nothing has changed. */
  next(): Promise<Given | null>;
  /** Keeps what was read; called while the program already runs. */
  keep(): Promise<void>;
}

export function sourceOf(settings: Settings, values: RunValues, environment: Environment): ValueSource {
  let latest: Snapshot | null = null;
  /** What came from the file is not written to it again: it would never grow old. */
  let fresh = true;
  // What is kept is sealed under the credential, and one that lives for minutes opens nothing later.
  if (values.offline && settings.workload !== null)
    throw new UsageError('--offline needs an access key or an API key');
  const cached = !values['no-cache'] && settings.workload === null;
  const offline = async () => (await import('./offline.ts')).offlineFor(settings, environment);
  // With an API key that reaches several vaults, a file of references alone says what to read.
  const skipsVault =
    values.variables !== null &&
    settings.accessKey === null &&
    settings.workload === null &&
    settings.vault === null;
  const vault = skipsVault ? null : vaultOf(settings);
  const given = (snapshot: Snapshot | null) => environmentFor(settings, values, snapshot, environment);

  /** What this key may no longer read is not read from the file either, however it was taken away. */
  async function forgetIfRefused(error: unknown): Promise<void> {
    if (cached && error instanceof RefusedRequest && refusals.has(error.status)) (await offline()).forget();
  }

  async function kept(error: unknown): Promise<Snapshot> {
    await forgetIfRefused(error);
    if (!(error instanceof Away && values.offline)) throw error;
    const { at, snapshot } = (await offline()).read(values['offline-max-age']);
    note(`${error.message}; using what was read at ${new Date(at).toISOString()}`);
    fresh = false;
    return snapshot;
  }

  return {
    first: async () => {
      if (vault === null) return given(null);
      latest = await wholeVault(vault).catch(error => kept(error));
      return given(latest);
    },
    next: async () => {
      const changed = await vault?.read(latest?.tag).catch(async error => {
        await forgetIfRefused(error);
        throw error;
      });
      if (changed == null) return null;
      latest = changed;
      fresh = true;
      return given(changed);
    },
    keep: async () => {
      if (cached && fresh && latest !== null) await (await offline()).keep(latest);
    },
  };
}

const longestStop = 10_000;

/** Until the program ends by itself. A change stops it as a supervisor would, and starts it again. */
export async function supervise(
  command: readonly string[],
  values: RunValues,
  source: ValueSource,
  { PATH: path }: Environment,
): Promise<Ended> {
  let given = await source.first();
  let running: Running | null = null;
  const stopForwarding = forwardSignals(() => running?.process);
  try {
    for (;;) {
      running = startProgram({
        command,
        path,
        environment: given.environment,
        masks: await masksFor(values, given),
      });
      // What can't be kept is no reason to stop a program that runs.
      await source.keep().catch(() => {});
      const changed: Given | Ended = values.watch
        ? await changeOrEnd(running, source, values)
        : await running.ended;
      if (!('environment' in changed)) return changed;
      note('a value has changed: restarting');
      await stop(running);
      given = changed;
    }
  } finally {
    stopForwarding();
  }
}

async function changeOrEnd(
  { ended }: Running,
  source: ValueSource,
  values: RunValues,
): Promise<Given | Ended> {
  const interval = values['watch-interval'] * 1000;
  for (;;) {
    const first = await Promise.race([ended, sleep(interval, null, { ref: false })]);
    if (first !== null) return first;
    // The program keeps what it has while the service is away.
    const changed = await source.next().catch(() => null);
    if (changed !== null) return changed;
  }
}

async function stop({ process: child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), longestStop);
  await ended.finally(() => clearTimeout(timer));
}

/** A terminal is left alone: a program behind a pipe would lose its colours and its prompts. */
async function masksFor(values: RunValues, { secrets }: Given) {
  const masked = (stream: NodeJS.WriteStream) => values.mask || (!values['no-mask'] && !stream.isTTY);
  const [stdout, stderr] = [masked(process.stdout), masked(process.stderr)];
  if (!stdout && !stderr) return { stdout: null, stderr: null };
  const { maskFor } = await import('../terminal/mask.ts');
  return { stdout: stdout ? maskFor(secrets) : null, stderr: stderr ? maskFor(secrets) : null };
}
