import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fuzz } from './fuzz.ts';
import { enginesInTurn, startService } from './harness.ts';

describe('requests made from the OpenAPI document', () => {
  for (const engine of enginesInTurn(import.meta.url)) {
    it(`never end in a crash, a 500 or an answer that it does not know, on ${engine}`, async () => {
      const service = await startService({ engine });
      try {
        const statuses = await fuzz(service, { runs: 400 });
        assert.ok((statuses[200] ?? 0) > 20, `few get through: ${JSON.stringify(statuses)}`);
        assert.ok((statuses[400] ?? 0) > 20, `few are refused: ${JSON.stringify(statuses)}`);
      } finally {
        await service.stop();
      }
    });
  }
});
