/** The file of `strongroom export --all`, for a key of the age program of a distribution, and opened by it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const command = fileURLToPath(new URL('../../bin/strongroom.js', import.meta.url));

/** Says what was opened, or throws. */
export async function openedByAge(age: string, url: string, key: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-age-'));
  try {
    const [keyFile, out] = [join(folder, 'key'), join(folder, 'all.age')];
    await execute(`${age}-keygen`, ['--output', keyFile]);
    const recipient = (await execute(`${age}-keygen`, ['-y', keyFile])).stdout.trim();
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
