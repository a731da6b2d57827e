/**
 * Tests third-party tools that `npm ci` does not install against a real service: `npm run interop`. A missing tool is
 * reported with its Debian package and does not count as a pass: the exit code is then 2. If a tool fails, it is 1.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startService } from '../test/harness.ts';
import { openedByAge } from '../test/interop/age.ts';
import { gitThroughGateway, npmThroughGateway } from '../test/interop/gateway.ts';
import { leasesOfRedis, leasesWithHvac } from '../test/interop/leases.ts';
import { throughPgbouncer } from '../test/interop/pgbouncer.ts';
import { proxies, runBehind } from '../test/interop/proxies.ts';
import { throughSshd } from '../test/interop/ssh.ts';

interface Tool {
  readonly name: string;
  readonly debianPackage: string;
  /** The command of the tool; null if it is missing. */
  find(): Promise<string | null>;
  /** Returns a description of what was run, or throws. */
  run(command: string, environment: Environment): Promise<string>;
}

interface Environment {
  readonly [name: string]: string;
}

const revocations = 1_000;
const hvacFile = fileURLToPath(new URL('../test/interop/hvac_client.py', import.meta.url));
const lookup = 'community.hashi_vault.vault_kv2_get';

const execute = promisify(execFile);

/** Credentials are passed in the environment, because anyone on the machine can read a command line. */
async function output(
  command: string,
  args: readonly string[],
  environment: Environment = {},
): Promise<string> {
  const options = { env: { ...process.env, ...environment }, timeout: 120_000 };
  return (await execute(command, args, options)).stdout;
}

function succeeds(command: string, ...args: string[]): Promise<boolean> {
  return output(command, args).then(
    () => true,
    () => false,
  );
}

async function pythonWithHvac(): Promise<string | null> {
  for (const python of ['python3', '/usr/bin/python3'])
    if (await succeeds(python, '-c', 'import hvac')) return python;
  return null;
}

const versionFlag = { nginx: '-v', caddy: 'version', haproxy: '-v' } as const;

const tools: Tool[] = [
  {
    name: 'hvac',
    debianPackage: 'python3-hvac',
    find: pythonWithHvac,
    run: async (python, environment) => (await output(python, [hvacFile], environment)).trim(),
  },
  {
    name: `Ansible’s ${lookup}`,
    debianPackage: 'ansible, and python3-hvac',
    find: async () => ((await succeeds('ansible-doc', '-t', 'lookup', lookup)) ? 'ansible' : null),
    run: async (ansible, environment) => {
      const message = `msg={{ lookup('${lookup}', 'apps/web').secret.user }}`;
      const text = await output(ansible, ['localhost', '-m', 'debug', '-a', message], {
        ...environment,
        ANSIBLE_HASHI_VAULT_ADDR: environment.VAULT_ADDR!,
        ANSIBLE_HASHI_VAULT_TOKEN: environment.READER!,
      });
      if (!text.includes('"msg": "app"')) throw new Error(text);
      return (await output(ansible, ['--version'])).split('\n')[0]!;
    },
  },
  {
    name: 'hvac, with short-lived credentials',
    debianPackage: 'python3-hvac',
    find: pythonWithHvac,
    run: leasesWithHvac,
  },
  {
    name: 'pgbouncer, between two replicas and PostgreSQL',
    debianPackage: 'pgbouncer',
    find: async () => ((await succeeds('pgbouncer', '--version')) ? 'pgbouncer' : null),
    run: pgbouncer => throughPgbouncer(pgbouncer, revocations),
  },
];

tools.push({
  name: 'age, with the file of strongroom export --all',
  debianPackage: 'age',
  find: async () => ((await succeeds('age', '--version')) ? 'age' : null),
  run: age => openedByAge(age, service.url, service.key),
});

tools.push(
  {
    name: 'git, through the gateway',
    debianPackage: 'git',
    find: async () => ((await succeeds('git', '--version')) ? 'git' : null),
    run: gitThroughGateway,
  },
  {
    name: 'npm, through the gateway',
    debianPackage: 'npm',
    find: async () => ((await succeeds('npm', '--version')) ? 'npm' : null),
    run: npmThroughGateway,
  },
);

tools.push({
  name: 'OpenSSH, with certificates and revocation lists',
  debianPackage: 'openssh-server, and openssh-client',
  find: async () => {
    const sshd = '/usr/sbin/sshd';
    return existsSync(sshd) && (await succeeds('ssh', '-V')) ? sshd : null;
  },
  run: sshd => throughSshd(sshd, service),
});

for (const [server, debianPackage] of [
  ['redis-server', 'redis-server'],
  ['valkey-server', 'valkey-server'],
] as const)
  tools.push({
    name: `${server}, with short-lived users`,
    debianPackage,
    find: async () => ((await succeeds(server, '--version')) ? server : null),
    run: leasesOfRedis,
  });

for (const proxy of proxies) {
  tools.push({
    name: `deploy/proxies behind ${proxy}`,
    debianPackage: proxy,
    find: async () => ((await succeeds(proxy, versionFlag[proxy])) ? proxy : null),
    run: () => runBehind(proxy),
  });
}

const service = await startService({ threads: true });
const make = async (path: string, body: object) => (await service.call('POST', `/v1/${path}`, body)).body;
const { id } = await make('vaults', { name: 'prod' });
const operations = ['encrypt', 'decrypt', 'rewrap', 'sign', 'verify', 'mac'];
const json = { value: '{"user":"app","password":"p"}', content_type: 'application/json' };
await make('secrets', { vault_id: id, name: 'DATABASE_URL', value: 'postgres://one' });
await make('secrets', { vault_id: id, name: 'apps/web', ...json });
const environment = {
  VAULT_ADDR: `${service.url}/vault`,
  READER: (await make('access-keys', { vault_id: id, name: 'reader' })).token,
  WORKER: (await make('access-keys', { vault_id: id, name: 'worker', operations })).token,
  WRITER: (await make('api-keys', { name: 'writer', role: 'editor', vault_ids: [id] })).token,
};

/** 0 if it passed, 1 if it failed, 2 if the tool is missing. */
async function tried(tool: Tool): Promise<0 | 1 | 2> {
  const command = await tool.find();
  if (command === null) {
    console.log(`MISSING  ${tool.name}: install the Debian package ${tool.debianPackage}`);
    return 2;
  }
  try {
    console.log(`PASSED   ${tool.name}: ${await tool.run(command, environment)}`);
    return 0;
  } catch (error) {
    const { message, stdout = '' } = error as Error & { stdout?: string };
    console.log(`FAILED   ${tool.name}: ${message}\n${stdout}`);
    return 1;
  }
}

const statuses: number[] = [];
for (const tool of tools) statuses.push(await tried(tool));
await service.stop();
process.exit(statuses.includes(1) ? 1 : Math.max(...statuses));
