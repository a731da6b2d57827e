/**
 * Every way that a hostile agent has to get a value out that it may only use, for every place that a rule puts it
 * into, on each engine and with the planes in threads of their own. `npm run campaign:agents` runs all of them; the
 * tests run some.
 */
import { runApprovalCampaign } from '../agent-approvals.ts';
import { placings, runAgentCampaign } from '../agent-campaign.ts';
import { engines } from '../harness.ts';
import { globalSetup, globalTeardown } from '../postgres.ts';
import { startUsesWorld } from '../uses-world.ts';

await globalSetup();
for (const engine of engines) {
  const world = await startUsesWorld(engine, true);
  for (const placing of placings) {
    const { tried, classes, faults, strangers } = await runAgentCampaign(world, placing);
    console.log(
      `${engine}, ${placing.place.type}: ${tried} ways, ${faults.length} faults, ${strangers} strangers`,
    );
    console.log(
      `  ${Object.entries(classes)
        .map(([kind, count]) => `${kind} ${count}`)
        .join(', ')}`,
    );
    for (const fault of faults) console.log(`  ${fault}`);
    if (faults.length > 0 || strangers > 0) process.exitCode = 1;
  }
  const { tried, faults } = await runApprovalCampaign(world, false);
  console.log(`${engine}, approvals: ${tried} ways, ${faults.length} faults`);
  for (const fault of faults) console.log(`  ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
  await world.stop();
}
await globalTeardown();
