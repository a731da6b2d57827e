/**
 * Ten thousand access keys on each engine, each read with, revoked and read with again: the very next read must be
 * refused, although another thread answers it. `npm run campaign:revocations [-- TIMES]` runs the long form; the
 * tests run a short one.
 */
import { engines, startService } from '../harness.ts';
import { globalSetup, globalTeardown } from '../postgres.ts';
import { revocations } from '../revocations.ts';

const times = Number(process.argv[2] ?? 10_000);

await globalSetup();
for (const engine of engines) {
  const service = await startService({ engine, threads: true });
  const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'revocations' });
  const { refused, served } = await revocations(service, vault.id, times);
  console.log(`${engine}: ${refused} of ${times} refused, ${served} served`);
  if (refused !== times) process.exitCode = 1;
  await service.stop();
}
await globalTeardown();
