/**
 * Checks the files under deploy/ with the programs that they are for: `npm run interop:deploy`. A program that is not
 * installed is reported, and never counts as a pass. Exits with 1 if a program reports a fault.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const scratch = mkdtempSync(join(tmpdir(), 'strongroom-deploy-'));
const unit = join(scratch, 'strongroom.service');
const chart = 'deploy/helm/strongroom';
const values = ['--values', 'deploy/kustomize/values.yaml'];

interface Trial {
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  /** The arguments that show whether the program is installed. */
  readonly version?: readonly string[];
}

const trials: readonly Trial[] = [
  { what: 'systemd unit, verified', program: 'systemd-analyze', args: ['verify', unit] },
  {
    what: 'systemd unit, exposure at most 2.0',
    program: 'systemd-analyze',
    args: ['security', '--offline=true', '--threshold=20', unit],
  },
  {
    what: 'kustomize base',
    program: 'kubectl',
    args: ['kustomize', 'deploy/kustomize/base'],
    version: ['version', '--client'],
  },
  {
    what: 'kustomize overlay',
    program: 'kubectl',
    args: ['kustomize', 'deploy/kustomize/example'],
    version: ['version', '--client'],
  },
  { what: 'chart, linted', program: 'helm', args: ['lint', chart, ...values], version: ['version'] },
  {
    what: 'chart, rendered',
    program: 'helm',
    args: ['template', 'strongroom', chart, ...values],
    version: ['version'],
  },
  {
    what: 'compose, embedded',
    program: 'docker',
    args: ['compose', '-f', 'deploy/compose/embedded.yml', 'config', '-q'],
    version: ['compose', 'version'],
  },
  {
    what: 'compose, PostgreSQL',
    program: 'docker',
    args: ['compose', '-f', 'deploy/compose/postgres.yml', 'config', '-q'],
    version: ['compose', 'version'],
  },
  {
    what: 'image',
    program: 'docker',
    args: ['build', '-f', 'deploy/docker/Dockerfile', '.'],
    version: ['info'],
  },
  {
    what: 'nginx sample',
    program: 'nginx',
    args: ['-t', '-c', join(scratch, 'nginx.conf')],
    version: ['-v'],
  },
  {
    what: 'Caddy sample',
    program: 'caddy',
    args: ['validate', '--config', 'deploy/proxies/Caddyfile', '--adapter', 'caddyfile'],
    version: ['version'],
  },
  {
    what: 'HAProxy sample',
    program: 'haproxy',
    args: ['-c', '-f', join(scratch, 'haproxy.cfg')],
    version: ['-v'],
  },
];

prepare();
let failed = 0;
for (const { what, program, args, version = ['--version'] } of trials) {
  if (spawnSync(program, version, { stdio: 'ignore' }).status !== 0) {
    console.log(`not run  ${what}: “${[program, ...version].join(' ')}” does not work here`);
    continue;
  }
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  console.log(`${status === 0 ? 'passed ' : 'FAILED '}  ${what} (${program})`);
  if (status === 0) continue;
  failed++;
  console.log(`${stdout}${stderr}`);
}
rmSync(scratch, { recursive: true });
process.exitCode = failed === 0 ? 0 : 1;

/** The checks include the files that are named in the configurations: a program to start, and certificates. */
function prepare(): void {
  const own = readFileSync('deploy/systemd/strongroom.service', 'utf8');
  writeFileSync(unit, own.replace('/usr/local/bin/strongroom', process.execPath));
  mkdirSync(join(scratch, 'tls'));
  const [cert, key] = [join(scratch, 'tls', 'cert.pem'), join(scratch, 'tls', 'key.pem')];
  const subject = ['-subj', '/CN=vault.example.com', '-days', '1', '-newkey', 'rsa:2048', '-nodes'];
  execFileSync('openssl', ['req', '-x509', ...subject, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  writeFileSync(join(scratch, 'tls', 'both.pem'), readFileSync(cert, 'utf8') + readFileSync(key, 'utf8'));
  const site = readFileSync('deploy/proxies/nginx.conf', 'utf8').replace(/\/etc\/nginx\/tls\/\S+\.pem/, cert);
  writeFileSync(join(scratch, 'site.conf'), site.replace(/\/etc\/nginx\/tls\/\S+\.key/, key));
  writeFileSync(join(scratch, 'nginx.conf'), `events {}\nhttp { include ${scratch}/site.conf; }\n`);
  const proxy = readFileSync('deploy/proxies/haproxy.cfg', 'utf8');
  writeFileSync(
    join(scratch, 'haproxy.cfg'),
    proxy.replace(/\/etc\/haproxy\/tls\/\S+\.pem/, join(scratch, 'tls', 'both.pem')),
  );
}
