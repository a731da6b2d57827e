/**
 * Measures the spread of answer times at full load, for one vault and for a thousand: the ratio of the 99th percentile
 * to the median, which filing must not increase. `npm run bench:evenness` prints both; they should be under 10.
 */
import { type Filled, fill, load, readRequest, startServer, table } from './bench.ts';

const connections = 32;
const warmUp = 4;
const turns = 5;
const seconds = 4;

async function evenness(name: string, filled: Filled): Promise<(string | number)[]> {
  const server = await startServer(filled.place);
  const plan = { connections, port: server.port, requests: filled.vaults.map(vault => readRequest(vault)) };
  await load({ ...plan, seconds: warmUp });
  const turnsTaken = [];
  for (let turn = 0; turn < turns; turn++) turnsTaken.push(await load({ ...plan, seconds }));
  await server.stop();
  const middle = turnsTaken.sort((x, y) => x.p99 / x.p50 - y.p99 / y.p50)[turns >> 1]!;
  const { perSecond, p50, p99 } = middle;
  return [name, Math.round(perSecond), p50.toFixed(2), p99.toFixed(2), (p99 / p50).toFixed(1)];
}

const rows: (string | number)[][] = [];
for (const [name, vaults] of [
  ['one vault', 1],
  ['1,000 vaults', 1_000],
] as const) {
  const filled = await fill({ vaults: Array.from({ length: vaults }, () => 5) });
  rows.push(await evenness(name, filled));
  filled.remove();
}
process.stdout.write(`${table(['read', 'requests/s', 'median ms', 'p99 ms', 'p99/median'], rows)}\n`);
