/** The file of `strongroom export --all`, opened by the age program of a distribution. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { newKeyPair } from '../../src/keyring/age/keys.ts';

const execute = promisify(execFile);
const command = fileURLToPath(new URL('../../bin/strongroom.js', import.meta.url));

/** Says what was opened, or throws. */
export async function openedByAge(age: string, url: string, key: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-age-'));
  try {
    const { recipient, identity } = newKeyPair();
    const [keyFile, out] = [join(folder, 'key'), join(folder, 'all.age')];
    await writeFile(keyFile, `${identity}\n`, { mode: 0o600 });
    const env = { PATH: process.env.PATH, HOME: folder, STRONGROOM_URL: url, STRONGROOM_API_KEY: key };
    const args = [command, 'export', '--all', '--recipient', recipient, '--out', out];
    await execute(process.execPath, args, { env, cwd: folder });
    const { stdout } = await execute(age, ['--decrypt', '--identity', keyFile, out]);
    const { format, vaults } = JSON.parse(stdout);
    assert.equal(format, 'strongroom-export/1');
    const secrets = vaults.flatMap((vault: { secrets: { name: string; value: string }[] }) => vault.secrets);
    assert.ok(secrets.some(({ value }: { value: string }) => value === 'postgres://one'));
    const { stdout: version } = await execute(age, ['--version']);
    return `${version.trim()}: ${vaults.length} vaults, ${secrets.length} secrets`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
