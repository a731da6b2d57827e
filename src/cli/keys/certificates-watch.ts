/**
 * `strongroom certificates watch`: keeps files of certificates up to date, and runs a command after each change, such as
 * the reload of a server. It goes on while the service can't be reached; a command that fails is run again.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Environment, flag, text, whole } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type CertificateSource, certificateSource, type Issued } from '../connection/certificate-source.ts';
import { Away } from '../connection/remote.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { note } from '../terminal/terminal.ts';
import { checkPlaces, type Places, writeFiles } from './certificate-files.ts';

const usualInterval = 60;
const mostNames = 100;

const { json: _, ...place } = serviceOptions;

export const command = commandOf({
  usage: 'certificates watch NAME... --cert FILE --key FILE [flags]',
  summary: 'keep the files of a certificate up to date, and reload a server after each change',
  options: {
    ...place,
    cert: text('FILE', 'the file of the certificate and its chain; {name} stands for the name'),
    key: text('FILE', 'the file of the private key; the same FILE as --cert gives one with both'),
    chain: text('FILE', 'write the chain to this file, not after the certificate'),
    'key-name': text('NAME', 'the name of the private key (default: that of the certificate)'),
    exec: text('COMMAND', 'run this in a shell after each change, such as "nginx -s reload"'),
    interval: whole(
      'SECONDS',
      'how often to ask for changes, roughly (default: 60)',
      usualInterval,
      1,
      86_400,
    ),
    once: flag('write the files, run the command if they changed, and end'),
  },
  completes: 'certificates',
  about:
    'Writes a certificate and its private key to files, and writes them again whenever the vault has a new version. Files\nare replaced as a whole; only you can read the key. After a change, the command of --exec is run, and until it succeeds.',
  more: 'Examples:\n  strongroom certificates watch web --cert /etc/nginx/web.pem --key /etc/nginx/web.key --exec "nginx -s reload"\n  strongroom certificates watch a.example.com b.example.com --cert "/etc/haproxy/certs/{name}.pem" --key "/etc/haproxy/certs/{name}.pem" --exec "systemctl reload haproxy"\n',
  missing: 'the name of a certificate is required',
  upTo: mostNames,
  run: async (values, first, others) => {
    const names = [...new Set([first, ...others])];
    if (values.cert === null || values.key === null) throw new UsageError('--cert and --key are required');
    if (values['key-name'] !== null && names.length > 1)
      throw new UsageError('--key-name can’t be combined with several certificates');
    const places = { cert: values.cert, key: values.key, chain: values.chain };
    checkPlaces(places, names);
    const source = certificateSource(settingsFor(values, process.env));
    const watch: Watch = {
      ...values,
      names,
      places,
      source,
      environment: process.env,
      pending: new Map(),
      mustRun: false,
    };
    if (values.once) await turn(watch);
    else await follow(watch);
  },
});

interface Watch {
  readonly names: readonly string[];
  readonly places: Places;
  readonly source: CertificateSource;
  readonly 'key-name': string | null;
  readonly exec: string | null;
  readonly interval: number;
  readonly environment: Environment;
  /** Read, and not written yet. */
  readonly pending: Map<string, Issued>;
  /** Whether the command has not succeeded since the last change. */
  mustRun: boolean;
}

async function turn(watch: Watch): Promise<void> {
  for (const issued of await watch.source.changed(watch.names, watch['key-name']))
    watch.pending.set(issued.name, issued);
  for (const [name, issued] of watch.pending) {
    if (await writeFiles(watch.places, issued)) {
      watch.mustRun = true;
      note(`${name} was written; it expires on ${issued.expiresAt}`);
    }
    watch.pending.delete(name);
  }
  if (watch.mustRun && watch.exec !== null) await run(watch.exec, watch.environment);
  watch.mustRun = false;
}

/** Nothing ends it, except a refusal at the start. Sooner after a failure, and never at the same time as others. */
async function follow(watch: Watch): Promise<never> {
  let failures = 0;
  let told: string | null = null;
  for (let isFirst = true; ; isFirst = false) {
    const said = await attempt(watch, isFirst);
    if (said !== told) note(said ?? 'up to date again');
    [failures, told] = [said === null ? 0 : failures + 1, said];
    const wait = failures === 0 ? watch.interval : Math.min(watch.interval, 2 ** (failures - 1));
    await sleep(wait * 1_000 * (0.8 + 0.4 * Math.random()));
  }
}

/** Returns why it failed, or null. Throws what waiting can't resolve. */
async function attempt(watch: Watch, isFirst: boolean): Promise<string | null> {
  try {
    await turn(watch);
    return null;
  } catch (error) {
    if (!(error instanceof Refusal || isFile(error))) throw error;
    const isForGood = isFirst && error instanceof Refusal && !(error instanceof Away) && !watch.mustRun;
    if (isForGood) throw error;
    return (error as Error).message;
  }
}

/** A folder that is gone or full may come back. */
function isFile(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

/** Credentials of ours are not passed on. */
async function run(line: string, environment: Environment): Promise<void> {
  const env = Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('STRONGROOM_')),
  );
  const child = spawn('/bin/sh', ['-c', line], { env, stdio: ['ignore', 'inherit', 'inherit'] });
  const [code, signal] = await once(child, 'exit');
  if (code !== 0) throw new Refusal(`the command of --exec failed (${signal ?? code}); it is run again`);
}
