/** Access keys that are made, read with, revoked and read with again, several at a time. */
import assert from 'node:assert/strict';
import type { Service } from './harness.ts';

export interface Outcome {
  refused: number;
  served: number;
}

const lanes = 8;

export async function revocations(service: Service, vaultId: string, times: number): Promise<Outcome> {
  const outcome: Outcome = { refused: 0, served: 0 };
  let left = times;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left-- > 0) await revokeOne(service, vaultId, outcome);
    }),
  );
  return outcome;
}

async function revokeOne({ call }: Service, vaultId: string, outcome: Outcome): Promise<void> {
  const { body: key } = await call('POST', '/v1/access-keys', { vault_id: vaultId, name: 'brief' });
  const read = async () => (await call('GET', `/api/v1/vaults/${vaultId}`, undefined, key.token)).status;
  assert.equal(await read(), 200);
  assert.equal((await call('DELETE', `/v1/access-keys/${key.id}`)).status, 200);
  // 429: many were refused within the minute.
  if ([401, 429].includes(await read())) outcome.refused++;
  else outcome.served++;
}
