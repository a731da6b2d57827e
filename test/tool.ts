/** The command line as its users run it: against a real service, in a home folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandFile } from './built-command.ts';
import { atTheLatest } from './ending.ts';
import { type Service, startService } from './harness.ts';

export const binary = commandFile();

export interface Done {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly bytes: Buffer;
  readonly stdout: string;
  readonly stderr: string;
}

export interface How {
  /** Beside the address and the access key; `undefined` takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string | Buffer;
  readonly cwd?: string;
}

export interface Tool {
  readonly service: Service;
  readonly vaultId: string;
  readonly accessKey: string;
  readonly home: string;
  /** The environment that it runs with. */
  environment(more?: How['env']): NodeJS.ProcessEnv;
  start(args: readonly string[], how?: How): { child: ChildProcess; done: Promise<Done> };
  run(args: readonly string[], how?: How): Promise<Done>;
  /** With the owner's API key instead of the access key. */
  admin(args: readonly string[], how?: How): Promise<Done>;
  put(name: string, value: string): Promise<string>;
  stop(): Promise<void>;
}

export async function startTool(secrets: Readonly<Record<string, string>>): Promise<Tool> {
  const service = await startService();
  const home = mkdtempSync(join(tmpdir(), 'strongroom-tool-'));
  const vaultId = (await service.call('POST', '/v1/vaults', { name: 'app' })).body.id;
  const key = await service.call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'tool' });
  const accessKey: string = key.body.token;
  const ids = new Map<string, string>();

  async function put(name: string, value: string): Promise<string> {
    const known = ids.get(name);
    const { body, status, text } =
      known === undefined
        ? await service.call('POST', '/v1/secrets', { vault_id: vaultId, name, value })
        : await service.call('PUT', `/v1/secrets/${known}`, { value });
    if (status !== 200) throw new Error(text);
    ids.set(name, body.id);
    return body.id;
  }
  for (const [name, value] of Object.entries(secrets)) await put(name, value);

  const environment = (more: How['env'] = {}): NodeJS.ProcessEnv => {
    const all = {
      PATH: process.env.PATH,
      HOME: home,
      STRONGROOM_URL: service.url,
      STRONGROOM_ACCESS_KEY: accessKey,
      ...more,
    };
    return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  };
  const start: Tool['start'] = (args, { env, input, cwd = home } = {}) => {
    const child = spawn(process.execPath, [binary, ...args], { env: environment(env), cwd });
    const killed = atTheLatest(() => child.kill('SIGKILL'));
    child.stdin.on('error', () => {}).end(input);
    return { child, done: collect(child).finally(killed) };
  };
  const run: Tool['run'] = (args, how) => start(args, how).done;
  return {
    service,
    vaultId,
    accessKey,
    home,
    environment,
    start,
    run,
    admin: (args, how = {}) =>
      run(args, {
        ...how,
        env: { STRONGROOM_ACCESS_KEY: undefined, STRONGROOM_API_KEY: service.key, ...how.env },
      }),
    put,
    stop: async () => {
      await service.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

export async function collect(child: ChildProcess): Promise<Done> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  child.stdout!.on('data', chunk => out.push(chunk));
  child.stderr!.on('data', chunk => err.push(chunk));
  const [code, signal] = await once(child, 'close');
  const bytes = Buffer.concat(out);
  return { code, signal, bytes, stdout: bytes.toString(), stderr: Buffer.concat(err).toString() };
}
