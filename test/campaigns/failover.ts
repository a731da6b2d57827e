/**
 * Two and then three replicas under load, each plane in a thread of its own, over a PostgreSQL whose synchronous standby takes
 * over: once after a crash, once after an orderly end. Prints what was acknowledged, what of it is lost, and for how long after the
 * promotion anything was refused. At last a standby that received nothing for a while takes over: what is lost is told
 * from a cut. Before each, a revoked key is tried on every replica: how late it is refused at most.
 * `npm run campaign:failover [-- REVOCATIONS]`; the tests run a short form.
 */
import { failOver, lostOf, startLoad, startReplicas } from '../failover.ts';
import { globalSetup, globalTeardown } from '../postgres.ts';
import { latenessOf } from '../replica-revocations.ts';
import { startPair } from '../standby.ts';

const revocations = Number(process.argv[2] ?? 200);
const longestRefused = 3_000;
const longestStale = 1_000;
const loadFor = 300;
const atOnce = 4;

async function run(count: number, how: 'crash' | 'shutdown'): Promise<boolean> {
  const pair = await startPair();
  await pair.setSynchronous(true);
  const replicated = await startReplicas(pair.url, count, true);
  const urls = replicated.replicas.map(({ url }) => url);
  const stale = await latenessOf({ ...replicated, urls }, revocations);
  const load = await startLoad(replicated, atOnce);
  await load.more(loadFor);
  const refused = await failOver(pair, how, load);
  await load.more(loadFor);
  await load.stop();
  const lost = await lostOf(replicated, load);
  await new Promise(resolve => setTimeout(resolve, 5_000)); // Everything is signed within seconds.
  const { ok, findings } = await replicated.verify();
  console.log(
    `${count} replicas, ${how}: ${load.secrets.length} writes and ${load.reads.length} reads acknowledged, ${lost.length} lost; ` +
      `refused for ${Math.round(refused)} ms after the promotion; logs ${ok ? 'verify' : JSON.stringify(findings)}; ` +
      `${revocations} revocations refused everywhere after ${Math.round(stale.median)} ms (median), ${Math.round(stale.longest)} ms (longest)`,
  );
  await replicated.stop();
  await pair.stop();
  return ok && lost.length === 0 && refused <= longestRefused && stale.longest <= longestStale;
}

/** What the standby did not receive is lost, and the verifier says that the log continued elsewhere. */
async function runAsynchronous(): Promise<boolean> {
  const pair = await startPair();
  const replicated = await startReplicas(pair.url, 2, true);
  const load = await startLoad(replicated, atOnce);
  await load.more(loadFor);
  await pair.disconnect();
  await failOver(pair, 'crash', load);
  await load.more(loadFor);
  await load.stop();
  const lost = await lostOf(replicated, load);
  await new Promise(resolve => setTimeout(resolve, 5_000));
  const { ok, continued, findings } = await replicated.verify();
  console.log(
    `asynchronous: ${lost.length} of ${load.secrets.length + load.reads.length} acknowledged are lost; logs ${ok ? 'verify' : JSON.stringify(findings)}, ` +
      `continued ${JSON.stringify(continued)}`,
  );
  await replicated.stop();
  await pair.stop();
  return (
    lost.length > 0 && continued.length === 1 && findings.every(({ what }) => what === 'lost-in-failover')
  );
}

await globalSetup();
for (const count of [2, 3])
  for (const how of ['crash', 'shutdown'] as const) if (!(await run(count, how))) process.exitCode = 1;
if (!(await runAsynchronous())) process.exitCode = 1;
await globalTeardown();
