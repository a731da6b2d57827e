/** The long form of the fuzz test: `npm run fuzz [-- RUNS [SEED]]`, on both engines. */
import { fuzz } from '../test/fuzz.ts';
import { engines, startService } from '../test/harness.ts';
import { globalSetup, globalTeardown } from '../test/postgres.ts';

const runs = Number(process.argv[2] ?? 20_000);
const seed = Number(process.argv[3] ?? Date.now() % 2 ** 31);

await globalSetup();
try {
  for (const engine of engines) {
    const service = await startService({ engine });
    console.log(`${engine}: ${runs} requests from seed ${seed}`);
    try {
      console.log(await fuzz(service, { runs, seed }));
    } finally {
      await service.stop();
    }
  }
} finally {
  await globalTeardown();
}
