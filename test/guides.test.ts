/**
 * The pages for new users work as they stand: each page's commands are pasted into one shell, in order, and every one
 * succeeds. What starts a service or reaches beyond this machine is only read: its flags must exist.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { commandFile } from './built-command.ts';
import { callService, type Service, startService } from './harness.ts';
import { freshDatabase } from './postgres.ts';
import { curl } from './shell.ts';

const execute = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

/** What a page's reader has before its first command. */
const functions = `
set -euo pipefail
if type -P curl > /dev/null; then
  curl() { command curl -D .head "$@"; tr -d '\\r' < .head | awk 'NR == 1 { print $2 }' >> "$CURL_STATUSES"; }
else
  ${curl}
fi
strongroom() {
  case "$1 \${2:-}" in
    serve*) shift; printf '%s\\n' "$*" >> "$SERVED";;
    'log stream') command_of "$@" $(case "$*" in *--once*) ;; *) echo --once;; esac);;
    *) command_of "$@";;
  esac
}
command_of() { '${process.execPath}' '${commandFile()}' "$@"; }
node() { '${process.execPath}' "$@"; }
npm() { if [ "$1" = run ]; then shift 4; command_of "$@"; fi; }
`;

/** What stands for something of the reader's own. */
const own: readonly [text: string | RegExp, instead: string][] = [
  [/^export STRONGROOM_URL=.*$/gm, ''],
  [/^export STRONGROOM_API_KEY=sr_api_….*$/gm, ''],
  ['https://example.com/hooks/strongroom', 'http://127.0.0.1:2/hooks/strongroom'],
];

interface Pasted {
  readonly stdout: string;
  /** The statuses of the requests that were answered. */
  readonly statuses: readonly number[];
}

describe('the pages for new users', () => {
  let service: Service;
  let folder: string;

  before(async () => {
    service = await startService();
    folder = mkdtempSync(join(tmpdir(), 'strongroom-guides-'));
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** In a folder and an organization of its own, with a vault that a page may expect. */
  async function paste(page: string, expected: 'a vault' | 'nothing'): Promise<Pasted> {
    const organization = await service.organization(page);
    const vault = expected === 'nothing' ? {} : await makeVault(service.url, organization.key);
    const cwd = join(folder, page.replaceAll('/', '-'));
    mkdirSync(cwd);
    symlinkSync(service.data, join(cwd, 'data'));
    writeFileSync(join(cwd, 'url'), await freshDatabase());
    writeFileSync(join(cwd, 'server.js'), '');
    const [statuses, served] = [join(cwd, '.statuses'), join(cwd, '.served')];
    const env = {
      PATH: process.env.PATH,
      HOME: cwd,
      STRONGROOM_URL: service.url,
      STRONGROOM_API_KEY: organization.key,
      ...vault,
      CURL_STATUSES: statuses,
      SERVED: served,
    };
    const options = { env, cwd, maxBuffer: 1e8 };
    const { stdout } = await execute('bash', ['-c', `${functions}\n${scriptOf(page)}`], options);
    for (const line of linesIn(served)) {
      const flags = line.split(' ').map(flag => (flag === 'url' ? join(cwd, flag) : flag));
      readConfig(serveOptions, flags, {});
    }
    return { stdout, statuses: linesIn(statuses).map(Number) };
  }

  it('README.md: from an empty service to a proven log, in one paste', async () => {
    const { stdout, statuses } = await paste('README.md', 'nothing');
    assert.match(stdout, /"value":"postgres:\/\/one"/);
    assert.match(stdout, /the address has 14 characters/);
    assert.match(stdout, /Verified against the given checkpoint/);
    assert.match(stdout, /\/invite#sr_invite_/);
    assert.deepEqual(statuses, [200, 401, 200]);
  });

  it('docs/api.md: a secret’s life, lists, keys and certificates', async () => {
    const { stdout, statuses } = await paste('docs/api.md', 'nothing');
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(statuses.length >= 17, `${statuses.length} requests`);
    assert.match(stdout, /"value":"postgres:\/\/two"/, 'revealed');
    assert.match(stdout, /"version":3/, 'rolled back');
    assert.match(stdout, /\{"DATABASE_URL":"postgres:\/\/one"\}/, 'read as a map');
  });

  for (const [page, count] of [
    ['docs/logs.md', 4],
    ['docs/backup.md', 0],
    ['docs/webhooks.md', 1],
    ['docs/workload-identity.md', 1],
    ['docs/vault-dialect.md', 2],
  ] as const)
    it(`${page}: every command works, one after the other`, async () => {
      const { statuses } = await paste(page, 'a vault');
      assert.deepEqual(statuses, Array<number>(count).fill(200));
    });
});

function linesIn(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

function scriptOf(page: string): string {
  const text = readFileSync(join(root, page), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(([, block]) => block!);
  assert.ok(blocks.length > 0, `${page} has commands`);
  return own.reduce((script, [from, to]) => script.replaceAll(from, to), blocks.join('\n'));
}

/** The vault, the secret and the access key that pages speak of. */
async function makeVault(url: string, key: string): Promise<Record<string, string>> {
  const create = async (path: string, body: object) =>
    (await callService(url, 'POST', path, body, key, {})).body;
  const { id } = await create('/v1/vaults', { name: 'production' });
  await create('/v1/secrets', { vault_id: id, name: 'DATABASE_URL', value: 'postgres://one' });
  const { token } = await create('/v1/access-keys', { vault_id: id, name: 'web' });
  return { VAULT: id, STRONGROOM_ACCESS_KEY: token };
}
