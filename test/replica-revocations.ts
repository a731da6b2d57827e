/** Access keys that every replica has in memory, revoked by one of them: how long the others go on serving them. */
import assert from 'node:assert/strict';
import { callService } from './harness.ts';

export interface Replicas {
  /** The first one revokes. */
  readonly urls: readonly string[];
  readonly key: string;
  readonly vaultId: string;
}

/** When the last request was sent that was served, in milliseconds after the revocation was acknowledged. */
export interface Lateness {
  readonly median: number;
  readonly longest: number;
}

const lanes = 4;
/** 429: many were refused within the minute. */
const refused = [401, 429];
const longestWait = 15_000;

export async function latenessOf(replicas: Replicas, times: number): Promise<Lateness> {
  const late: number[] = [];
  let left = times;
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      while (left-- > 0) late.push(await revokeOne(replicas));
    }),
  );
  late.sort((a, b) => a - b);
  return { median: late[Math.floor(late.length / 2)]!, longest: late.at(-1)! };
}

async function revokeOne({ urls, key, vaultId }: Replicas): Promise<number> {
  const manage = (method: string, path: string, body?: unknown) =>
    callService(urls[0]!, method, path, body, key);
  const { id, token } = (await manage('POST', '/v1/access-keys', { vault_id: vaultId, name: 'brief' })).body;
  const read = async (url: string) =>
    (await callService(url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, token)).status;
  for (const url of urls) for (let reads = 0; reads < 3; reads++) assert.equal(await read(url), 200);
  const revoked = await manage('DELETE', `/v1/access-keys/${id}`);
  assert.equal(revoked.status, 200, revoked.text);
  const acknowledged = performance.now();
  const each = urls.map(async url => {
    for (let served = 0; ; ) {
      const asked = performance.now() - acknowledged;
      // How long a busy machine takes to answer is not how long the key is good for.
      if (refused.includes(await read(url))) return served;
      served = asked;
      assert.ok(served < longestWait, 'a revoked key is still served');
    }
  });
  return Math.max(...(await Promise.all(each)));
}
