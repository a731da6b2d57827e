/** Short-lived credentials with programs that `npm ci` does not install: hvac, Redis and Valkey. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { callService, eventually, loopbackWebhooks, type Service, startService } from '../harness.ts';
import { startLeases } from '../leases-world.ts';
import { globalSetup, globalTeardown } from '../postgres.ts';
import { openRedis, type RedisTarget, redisTargetOf, startRedis } from '../redis-target.ts';

const file = fileURLToPath(new URL('hvac_leases.py', import.meta.url));

/** Says what was run, or throws. */
export async function leasesWithHvac(python: string): Promise<string> {
  await globalSetup();
  try {
    const world = await startLeases('sqlite', true);
    try {
      const environment = { VAULT_ADDR: `${world.service.url}/vault`, READER: world.key };
      const options = { env: { ...process.env, ...environment }, timeout: 60_000 };
      return (await promisify(execFile)(python, [file], options)).stdout.trim();
    } finally {
      await world.close();
    }
  } finally {
    await globalTeardown();
  }
}

/** Users of a real Redis or Valkey, whose list is in a file and in memory alone. Says what was run, or throws. */
export async function leasesOfRedis(command: string): Promise<string> {
  for (const withFile of [true, false]) {
    const redis = await startRedis(command, withFile);
    const service = await startService({ flags: loopbackWebhooks });
    try {
      await issuedAndRemoved(service, redis);
    } finally {
      await service.stop();
      await redis.close();
    }
  }
  return String(execFileSync(command, ['--version'])).trim();
}

async function issuedAndRemoved(service: Service, redis: RedisTarget): Promise<void> {
  const made = async (path: string, body: object) => {
    const { status, text, body: answer } = await service.call('POST', path, body);
    assert.equal(status, 200, text);
    return answer;
  };
  const { id: vault_id } = await made('/v1/vaults', { name: 'prod' });
  const { token } = await made('/v1/access-keys', { vault_id, name: 'web' });
  const { id } = await made('/v1/issuers', {
    vault_id,
    name: 'cache',
    provider: 'redis',
    connection: { url: redis.url },
    template: { rules: ['~app:*', '&news', '%R~shared:*', '+@all', '-@dangerous', '+client|id'] },
  });
  const checked = await made(`/v1/issuers/${id}/check`, {});
  assert.deepEqual(checked, { ok: true, problems: [] });
  const asked = await callService(
    service.url,
    'POST',
    `/api/v1/vaults/${vault_id}/leases`,
    { name: 'cache' },
    token,
  );
  assert.equal(asked.status, 200, asked.text);
  const { lease, data } = asked.body;
  assert.ok(await redis.opens(data.url));
  await assertRefused(data.url, 'ACL', 'SETUSER', 'other', 'on', 'nopass', '+@all', '~*');
  await assertRefused(data.url, 'GET', 'other:key');
  await assertRefused(data.url, 'CONFIG', 'GET', '*');
  const ended = await made(`/v1/leases/${lease.id}/revoke`, {});
  assert.equal(ended.state, 'revoking');
  await eventually('the user is removed', async () => (await redis.users()).length === 0);
  assert.ok(!(await redis.opens(data.url)));
}

async function assertRefused(url: string, ...command: string[]): Promise<void> {
  const session = await openRedis(redisTargetOf(url));
  await assert.rejects(session.command(...command), { code: 'NOPERM' }).finally(() => session.close());
}
