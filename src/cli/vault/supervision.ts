/** Supplies a program with the values of a vault: at the start, from stored values, or again after a change. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Environment } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { Away, RefusedRequest } from '../connection/remote.ts';
import type { Settings } from '../connection/settings.ts';
import { type Snapshot, vaultOf, wholeVault } from '../connection/vaults.ts';
import { note } from '../terminal/terminal.ts';
import { type Ended, forwardSignals, type Running, startProgram } from './child.ts';
import { environmentFor, type Given, type Secrets } from './environment.ts';
import { leasesFor } from './held-leases.ts';
import type { RunValues } from './run-options.ts';
import type { SecretFiles } from './secret-files.ts';

/** The key was revoked, has expired or is restricted, or its vault was deleted. */
const refusals = new Set([401, 403, 404]);

export interface ValueSource {
  first(): Promise<Given>;
  /** Null while nothing has changed. */
  next(): Promise<Given | null>;
  /** Stores the values; called while the program is already running. */
  keep(): Promise<void>;
  /** Gives back what was obtained for the program. */
  end(): Promise<void>;
}

/** The values of one vault. */
interface Part {
  readonly latest: () => Snapshot | null;
  first(): Promise<void>;
  /** Whether anything has changed. */
  next(): Promise<boolean>;
  keep(): Promise<void>;
}

export function sourceOf(settings: Settings, values: RunValues, environment: Environment): ValueSource {
  // The stored values are sealed under the credential, and a short-lived one could not open them later.
  if (values.offline && settings.workload !== null)
    throw new UsageError('--offline requires an access key or an API key');
  const skipsVault = isForGatewayAlone(values) || isForReferencesAlone(settings, values);
  const places = (values.vault.length > 1 ? values.vault : [settings.vault]).map(vault => ({
    ...settings,
    vault,
  }));
  const parts = skipsVault ? [] : places.map(place => partOf(place, values, environment));

  const { lease: wanted } = values;
  const leases = wanted.length === 0 ? null : leasesFor(settings, wanted, values);

  async function given(): Promise<Given> {
    const found = parts.flatMap(part => part.latest() ?? []);
    const own = values.mine ? await ownValues(places, environment) : [];
    const secrets = skipsVault && own.length === 0 ? null : joined(found, own, values.override);
    return withLeases(await environmentFor(settings, values, secrets, environment));
  }

  /** A lease replaces any other variable of its names. */
  function withLeases(others: Given): Given {
    if (leases === null) return others;
    return {
      ...others,
      environment: { ...others.environment, ...leases.variables },
      secrets: [...others.secrets, ...leases.secrets],
    };
  }

  return {
    first: async () => {
      // What a credential is obtained for must exist.
      await Promise.all(parts.map(part => part.first()));
      await leases?.obtain();
      return given();
    },
    next: async () => {
      const changed = await Promise.all(parts.map(part => part.next()));
      const isReplaced = (await leases?.replace()) ?? false;
      return isReplaced || changed.includes(true) ? given() : null;
    },
    keep: async () => {
      for (const part of parts) await part.keep();
      await leases?.revokeReplaced();
    },
    end: async () => leases?.end(),
  };
}

/** A program that uses secrets through the gateway gets only the values that are named. */
function isForGatewayAlone({ via, only, file }: RunValues): boolean {
  return via.length > 0 && only.length === 0 && file.length === 0;
}

/** With an API key and no vault, only the references in the file are read. */
function isForReferencesAlone({ accessKey, workload, vault }: Settings, { variables }: RunValues): boolean {
  return variables !== null && accessKey === null && workload === null && vault === null;
}

/** Of a name in several vaults, the last one counts, and none without --override. A person's own values come last. */
function joined(vaults: readonly Snapshot[], own: readonly OwnValue[], override: boolean): Secrets {
  const seen = new Set<string>();
  const ambiguous = new Set<string>();
  for (const { secrets } of override ? [] : vaults)
    for (const name of new Set(secrets.map(one => one.name))) (seen.has(name) ? ambiguous : seen).add(name);
  for (const { name } of own) ambiguous.delete(name);
  const owned = own.map(one => ({ ...one, id: '', content_type: 'text/plain' }));
  return { secrets: [...vaults.flatMap(({ secrets }) => secrets), ...owned], ambiguous };
}

interface OwnValue {
  readonly name: string;
  readonly value: string;
}

async function ownValues(places: readonly Settings[], environment: Environment): Promise<OwnValue[]> {
  const { personalValues } = await import('../connection/personal-values.ts');
  const found = places.flatMap(place => Object.entries(personalValues(place, environment).read()));
  if (found.length > 0)
    note(`using your own values of ${[...new Set(found.map(([name]) => name))].join(', ')}`);
  return found.map(([name, value]) => ({ name, value }));
}

function partOf(settings: Settings, values: RunValues, environment: Environment): Part {
  let latest: Snapshot | null = null;
  /** Values from the file are not written to it again, because they would never become too old. */
  let fresh = true;
  const cached = !values['no-cache'] && settings.workload === null;
  const offline = async () => (await import('./offline.ts')).offlineFor(settings, environment);
  const vault = vaultOf(settings);

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
    latest: () => latest,
    first: async () => {
      latest = await wholeVault(vault).catch(error => kept(error));
    },
    next: async () => {
      const changed = await vault.read(latest?.tag).catch(async error => {
        await forgetIfRefused(error);
        throw error;
      });
      if (changed === null) return false;
      latest = changed;
      fresh = true;
      return true;
    },
    keep: async () => {
      if (cached && fresh && latest !== null) await (await offline()).keep(latest);
    },
  };
}

const longestStop = 10_000;

/** Runs the program until it ends by itself. A change stops it with SIGTERM and starts it again, or sends it a signal. */
export async function supervise(
  command: readonly string[],
  values: RunValues,
  source: ValueSource,
  environment: Environment,
): Promise<Ended> {
  let running: Running | null = null;
  let files: SecretFiles | null = null;
  const early = Promise.withResolvers<Ended>();
  const stopForwarding = forwardSignals(
    () => running?.process,
    signal => early.resolve({ code: null, signal }),
  );
  try {
    const begun = await Promise.race([source.first(), early.promise]);
    if (!('environment' in begun)) return begun;
    let given = begun;
    files = await filesFor(values, environment);
    for (;;) {
      const masks = await masksFor(values, given);
      const paths = files?.put(given.files);
      running = startProgram({
        command,
        path: environment.PATH,
        environment: { ...given.environment, ...paths },
        masks,
      });
      // A failure to store the values must not stop a running program.
      await source.keep().catch(() => {});
      const changed: Given | Ended = values.watch
        ? await followed(running, source, values, next => tell(next, masks, files))
        : await running.ended;
      if (!('environment' in changed)) return changed;
      note('a value has changed: restarting');
      await stop(running);
      given = changed;
    }
  } finally {
    files?.remove();
    stopForwarding();
    await source.end();
  }
}

/** Null if no secret is passed on as a file. */
async function filesFor({ file }: RunValues, environment: Environment): Promise<SecretFiles | null> {
  return file.length === 0 ? null : (await import('./secret-files.ts')).secretFiles(environment);
}

type Masks = Awaited<ReturnType<typeof masksFor>>;

/** New values are masked before the program can see them. */
function tell(given: Given, { stdout, stderr }: Masks, files: SecretFiles | null): void {
  stdout?.also(given.secrets);
  stderr?.also(given.secrets);
  files?.put(given.files);
}

/** Until the program ends, or has to be started again. */
async function followed(
  running: Running,
  source: ValueSource,
  values: RunValues,
  tellOf: (given: Given) => void,
): Promise<Given | Ended> {
  const { 'on-change': deed } = values;
  for (;;) {
    const changed = await changeOrEnd(running, source, values);
    if (!('environment' in changed) || deed === null || deed === 'restart') return changed;
    try {
      tellOf(changed);
    } catch {
      note('a value has changed, but its file can’t be written: the program keeps the old one');
      continue;
    }
    note(`a value has changed: sending ${deed}`);
    running.process.kill(deed);
    await source.keep().catch(() => {});
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
