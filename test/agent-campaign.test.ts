import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { runApprovalCampaign } from './agent-approvals.ts';
import { placings, runAgentCampaign } from './agent-campaign.ts';
import { startUsesWorld, type UsesWorld } from './uses-world.ts';

describe('a hostile agent that may use a secret', () => {
  let world: UsesWorld;
  before(async () => {
    world = await startUsesWorld('sqlite');
  });
  after(() => world.stop());

  it('gets the value by none of several hundred ways, and reaches nobody else', async () => {
    const { tried, faults, strangers } = await runAgentCampaign(world, placings[0], (_, at) => at % 5 === 0);
    assert.deepEqual(faults, []);
    assert.equal(strangers, 0);
    assert.ok(tried > 200, `${tried} ways`);
  });

  it('has no call made that nobody approved', async () => {
    const { tried, faults } = await runApprovalCampaign(world, true);
    assert.deepEqual(faults, []);
    assert.ok(tried > 40, `${tried} ways`);
  });

  for (const placing of placings.slice(1)) {
    it(`nor where the value goes into ${placing.place.type}`, async () => {
      const { faults, strangers } = await runAgentCampaign(world, placing, (_, at) => at % 37 === 0, false);
      assert.deepEqual(faults, []);
      assert.equal(strangers, 0);
    });
  }
});
