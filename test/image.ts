/**
 * The image without Docker: its Dockerfile is read, and its steps run in a folder tree of their own, where the host's
 * programs take the place of the base image. The last stage runs on a read-only root, as the user that it names, without
 * any capability. What this does not show is the base image itself, and what a container runtime does.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
export const checkout = fileURLToPath(new URL('..', import.meta.url));

export interface Step {
  readonly instruction: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Stage {
  readonly base: string;
  readonly name: string;
  readonly steps: readonly Step[];
}

export function readDockerfile(file = join(checkout, 'deploy/docker/Dockerfile')): readonly Stage[] {
  const lines = readFileSync(file, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const stages: { base: string; name: string; steps: Step[] }[] = [];
  /** What may be replaced when it is built, with the values that it has otherwise. */
  const args = new Map<string, string>();
  for (const line of lines.filter(line => line.trim() !== '')) {
    const { instruction, flags, text } = stepOf(line);
    const [base = '', , name = ''] = text.split(/\s+/);
    if (instruction === 'FROM')
      stages.push({ base: base.replace(/^\$\{(\w+)\}$/, (_, arg) => args.get(arg) ?? ''), name, steps: [] });
    else if (stages.length === 0) args.set(...(text.split('=', 2) as [string, string]));
    else stages.at(-1)!.steps.push({ instruction, flags, text });
  }
  return stages;
}

function stepOf(line: string): Step {
  const [, instruction = '', given = '', text = ''] = /^([A-Z]+)((?:\s+--\S+)*)\s+(.*)$/.exec(line.trim())!;
  const flags = [...given.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, name, value]) => [name!, value!] as const);
  return { instruction, flags: Object.fromEntries(flags), text: text.trim() };
}

export const stepsOf = ({ steps }: Stage, instruction: string) =>
  steps.filter(step => step.instruction === instruction);

/** The last of its kind, which is the one that counts. */
export const textOf = (stage: Stage, instruction: string): string => stepsOf(stage, instruction).at(-1)!.text;

export const commandOf = (text: string): string[] => JSON.parse(text.replace(/^CMD\s+/, ''));

export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = stepsOf(stage, 'ENV').flatMap(({ text }) => [...text.matchAll(/(\w+)=(\S+)/g)]);
  return Object.fromEntries(pairs.map(([, name, value]) => [name!, value!]));
}

export interface Boxed {
  /** The tree that becomes the root. */
  readonly root: string;
  /** Folders of the root that can be written to; all of it if null. */
  readonly writable: readonly string[] | null;
  /** Folders of the host that are read in the root: where it has them, and where they are. */
  readonly shared?: readonly (readonly [string, string])[];
  /** User and group; null stays who we are. */
  readonly user: string | null;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Why no box can be made here; null if one can. */
export async function noBoxBecause(): Promise<string | null> {
  if (process.geteuid?.() !== 0) return 'only root can change to the user of the image';
  return run('unshare', ['--mount', 'setpriv', '--version']).then(
    () => null,
    () => 'no mount namespace can be made here',
  );
}

/** Some machines have no lib64. */
const systemFolders = ['/usr', '/bin', '/lib', '/lib64', '/etc'].filter(folder => existsSync(folder));

/** Arguments: root, folder, user, then `ro:HOST:INSIDE` and `rw::INSIDE` up to `--`, then the command. */
const script = `
set -e
root=$1 folder=$2 user=$3 locked=$4; shift 4
mount --bind "$root" "$root"
while [ "$1" != -- ]; do
  from=\${1%%:*} to=$root\${1#*:}; shift
  [ -e "$to" ] || if [ -d "$from" ]; then mkdir -p "$to"; else mkdir -p "\${to%/*}"; : > "$to"; fi
  mount --rbind "$from" "$to"
  case $from in "$root"/*|/dev|/proc) ;; *) mount -o remount,bind,ro "$to";; esac
done
shift
mkdir -p -m 1777 "$root/tmp"
[ -z "$locked" ] || { mount -t tmpfs tmpfs "$root/tmp"; mount -o remount,bind,ro "$root"; }
cd /
if [ -n "$user" ]; then
  set -- setpriv "--reuid=\${user%:*}" "--regid=\${user#*:}" --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs "$@"
fi
exec chroot "$root" /usr/bin/env -C "$folder" "$@"
`;

function boxArguments({ root, writable, shared = [], user, folder }: Boxed, command: readonly string[]) {
  const node = [process.execPath, '/node/bin/node'] as const;
  const own = (writable ?? []).map(inside => [join(root, inside), inside] as const);
  const given = systemFolders.map(inside => [inside, inside] as const);
  const devices = [['/dev', '/dev'] as const, ['/proc', '/proc'] as const];
  const mounts = [...given, ...devices, node, ...shared, ...own].map(([from, to]) => `${from}:${to}`);
  const locked = writable === null ? '' : 'locked';
  return [
    '--mount',
    'sh',
    '-c',
    script,
    'box',
    root,
    folder,
    user ?? '',
    locked,
    ...mounts,
    '--',
    ...command,
  ];
}

const path = '/node/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin';

export function startBoxed(boxed: Boxed, command: readonly string[]): ChildProcess {
  const env = { PATH: path, ...boxed.env };
  return spawn('unshare', boxArguments(boxed, command), { env, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** How this machine reaches the registry: what `docker build` takes over, and the authorities that Node trusts. */
const network = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'NODE_EXTRA_CA_CERTS'];

function networkOf(environment: NodeJS.ProcessEnv): Record<string, string> {
  const given = network.flatMap(name => [name, name.toLowerCase()]).filter(name => environment[name]);
  return Object.fromEntries(given.map(name => [name, environment[name]!]));
}

export async function runBoxed(boxed: Boxed, command: readonly string[]): Promise<string> {
  const env = { PATH: path, HOME: '/tmp', ...boxed.env };
  const options = { env, maxBuffer: 64 * 1024 * 1024 };
  return (await run('unshare', boxArguments(boxed, command), options)).stdout;
}

/** Runs the steps of a stage; `built` are the trees of those before it. */
export async function buildStage(
  { steps }: Stage,
  root: string,
  built: Readonly<Record<string, string>>,
  say: (line: string) => void = () => {},
): Promise<void> {
  const building = { writable: null, user: null, env: networkOf(process.env) };
  let folder = '/';
  mkdirSync(root, { recursive: true });
  for (const { instruction, flags, text } of steps) {
    if (/WORKDIR|COPY|RUN/.test(instruction)) say(`${instruction} ${text}`);
    if (instruction === 'WORKDIR') {
      folder = text;
      mkdirSync(join(root, folder), { recursive: true });
    }
    if (instruction === 'COPY') copy(text, flags, built, root, folder);
    if (instruction === 'RUN') await runBoxed({ ...building, root, folder }, ['sh', '-c', text]);
  }
}

function copy(
  text: string,
  flags: Step['flags'],
  built: Readonly<Record<string, string>>,
  root: string,
  folder: string,
): void {
  const names = text.split(/\s+/);
  const to = join(root, ...(names.at(-1)!.startsWith('/') ? [] : [folder]), names.pop()!);
  for (const name of names) {
    const from = join(flags.from === undefined ? context() : built[flags.from]!, name);
    const isFolder = name === '.' || flags.from !== undefined;
    const keep = (file: string) => flags.from !== undefined || isSent(file);
    cpSync(from, isFolder ? to : join(to, basename(name)), {
      recursive: true,
      verbatimSymlinks: true,
      filter: keep,
    });
  }
  if (flags.chmod !== undefined) chmodSync(to, Number.parseInt(flags.chmod, 8));
  if (flags.chown !== undefined) chownSync(to, ...(flags.chown.split(':').map(Number) as [number, number]));
}

const context = () => checkout;

/** By `.dockerignore`: the last line that names a file, or a folder that it is in, decides. */
export function isSent(file: string): boolean {
  const inside = relative(checkout, file);
  if (inside === '') return true;
  const rules = readFileSync(join(checkout, '.dockerignore'), 'utf8').split('\n').filter(isRule);
  let sent = true;
  for (const rule of rules) {
    const name = rule.replace(/^!/, '');
    const isNamed = name === '*' || inside === name || inside.startsWith(`${name}/`);
    // A folder is entered for what is in it.
    if (isNamed) sent = rule.startsWith('!');
    else if (rule.startsWith('!') && name.startsWith(`${inside}/`)) sent = true;
  }
  return sent;
}

const isRule = (line: string) => line !== '' && !line.startsWith('#');

/** What COPY names that the context does not have. */
export function missingSources(stages: readonly Stage[]): string[] {
  const names = stages
    .flatMap(stage => stepsOf(stage, 'COPY'))
    .filter(({ flags }) => flags.from === undefined)
    .flatMap(({ text }) => text.split(/\s+/).slice(0, -1));
  return names.filter(name => !existsSync(join(checkout, name)) || !isSent(join(checkout, name)));
}
