import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runCampaign } from './campaigns/backup.ts';
import { freshDatabase } from './postgres.ts';

const entries = 20_000;
/** In MiB: most of it is the runtime’s own, whose heap grows only so far before it is cleaned. */
const enough = 320;

describe('the backup of a long log', { concurrency: true }, () => {
  for (const [from, to] of [
    ['sqlite', 'postgres'],
    ['postgres', 'sqlite'],
  ] as const) {
    it(`goes from ${from} to ${to} whole, in bounded memory`, async () => {
      const { restored, backup, restore } = await runCampaign({ entries, from, to, freshDatabase });
      assert.ok(restored > entries);
      assert.ok(backup.memory > 0 && backup.memory < enough, `${backup.memory} MiB`);
      assert.ok(restore.memory < enough, `${restore.memory} MiB`);
    });
  }
});
