import assert from 'node:assert/strict';
import { it } from 'node:test';
import { crashReads } from './read-crashes.ts';

it('1,000 reads cut by kill -9 at random moments: every answer that a client received has its entry in the log, and is listed', async () => {
  const { answers, written, listed, findings } = await crashReads(1_000, 250);
  assert.ok(answers >= 1_000);
  assert.ok(written >= answers);
  assert.deepEqual(listed, [written, written]);
  assert.deepEqual(findings, []);
});
