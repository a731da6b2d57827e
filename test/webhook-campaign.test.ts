import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCampaign } from './campaigns/webhooks.ts';
import { engines } from './harness.ts';
import { freshDatabase } from './postgres.ts';

/** Most of it is waiting for retries, so the engines go side by side. */
describe('webhooks of a server that is killed', { concurrency: true }, () => {
  for (const engine of engines) {
    it(`on ${engine} each acknowledged change arrives, and what arrives twice carries the same id`, async () => {
      const databaseUrl = engine === 'postgres' ? await freshDatabase() : null;
      const toll = await runCampaign({ changes: 120, kills: 2, databaseUrl });
      assert.ok(toll.acknowledged > 75, JSON.stringify(toll));
      assert.equal(toll.lost, 0);
      assert.equal(toll.doubled, 0);
      assert.ok(toll.repeated > 0, 'the receiver failed now and then');
    });
  }
});
