/** Supplies a program with the values of a vault: at the start, from stored values, or again after a change. */
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

/** The key was revoked, has expired or is restricted, or its vault was deleted. */
const refusals = new Set([401, 403, 404]);

export interface ValueSource {
  first(): Promise<Given>;
  /** Null while nothing has changed. */
  next(): Promise<Given | null>;
  /** Stores the values; called while the program is already running. */
  keep(): Promise<void>;
}

export function sourceOf(settings: Settings, values: RunValues, environment: Environment): ValueSource {
  let latest: Snapshot | null = null;
  /** Values from the file are not written to it again, because they would never become too old. */
  let fresh = true;
  // The stored values are sealed under the credential, and a short-lived one could not open them later.
  if (values.offline && settings.workload !== null)
    throw new UsageError('--offline requires an access key or an API key');
  const cached = !values['no-cache'] && settings.workload === null;
  const offline = async () => (await import('./offline.ts')).offlineFor(settings, environment);
  // With an API key and no vault, only the references in the file are read.
  const skipsVault =
    values.variables !== null &&
    settings.accessKey === null &&
    settings.workload === null &&
    settings.vault === null;
  const vault = skipsVault ? null : vaultOf(settings);
  const given = (snapshot: Snapshot | null) => environmentFor(settings, values, snapshot, environment);

  /** Deletes the stored values if the key may no longer read them, for whatever reason. */
  async function forgetIfRefused(error: unknown): Promise<void> {
    if (cached && error instanceof RefusedRequest && refusals.has(error.status)) (await offline()).forget();
  }

  async function kept(error: unknown): Promise<Snapshot> {
    await forgetIfRefused(error);
    if (!(error instanceof Away && values.offline)) throw error;
    const { at, snapshot } = (await offline()).read(values['offline-max-age']);
    note(`${error.message}; using the values of ${new Date(at).toISOString()}`);
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

/** Runs the program until it ends by itself. A change stops it with SIGTERM and starts it again. */
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
      // A failure to store the values must not stop a running program.
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
    // The program keeps its values while the service is unavailable.
    const changed = await source.next().catch(() => null);
    if (changed !== null) return changed;
  }
}

async function stop({ process: child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), longestStop);
  await ended.finally(() => clearTimeout(timer));
}

/** A terminal is not masked by default: behind a pipe, a program would lose its colours and prompts. */
async function masksFor(values: RunValues, { secrets }: Given) {
  const masked = (stream: NodeJS.WriteStream) => values.mask || (!values['no-mask'] && !stream.isTTY);
  const [stdout, stderr] = [masked(process.stdout), masked(process.stderr)];
  if (!stdout && !stderr) return { stdout: null, stderr: null };
  const { maskFor } = await import('../terminal/mask.ts');
  return { stdout: stdout ? maskFor(secrets) : null, stderr: stderr ? maskFor(secrets) : null };
}
