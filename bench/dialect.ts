/**
 * Measures the cost of a read in Vault's dialect, as a ratio to the same read at the vault endpoint in the same run:
 * one secret by name, all secrets of a vault as one map, and its names. Rates are reads per second of the service's
 * processor time, which other programs on the machine hardly affect. Fails if a ratio is below nine tenths. `--short`
 * takes a third of the time.
 */
import { type Filled, fill, load, startServer, type Target, table } from './bench.ts';
import type { LoadPlan } from './load.ts';

const turns = process.argv.includes('--short') ? 5 : 15;
const warmUp = 3;
const connections = 32;
const smallest = 0.9;

type Vault = Filled['vaults'][number];

function requestFor(path: string, header: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${header}\r\nAccept: application/json\r\n\r\n`;
}

/** The compared requests: the same read in both ways. */
function pairsOf(vault: Vault): [what: string, native: string, dialect: string][] {
  const bearer = `Authorization: Bearer ${vault.token}`;
  const own = `X-Vault-Token: ${vault.token}`;
  const native = (query: string) => requestFor(`/api/v1/vaults/${vault.id}${query}`, bearer);
  const dialect = (path: string) => requestFor(`/vault/v1/secret/${path}`, own);
  return [
    ['one secret by name', native('?name=SECRET_7'), dialect('data/SECRET_7')],
    ['50 secrets as one map', native('?format=map'), dialect('data/_all')],
    ['names of 50 secrets', native('?secrets=names'), dialect('metadata/?list=true')],
  ];
}

/** Per second of processor time. */
async function rateOf(server: Target, plan: LoadPlan): Promise<number> {
  const before = server.processorTime();
  const { statuses } = await load(plan);
  const { 200: answered = 0, ...others } = statuses;
  if (Object.keys(others).length > 0)
    throw new Error(`not every read was answered: ${JSON.stringify(statuses)}`);
  return (1000 * answered) / (server.processorTime() - before);
}

/** They take turns of a second, in alternating order, because a machine changes its speed within seconds. */
async function compare(server: Target, requests: readonly string[]): Promise<number[]> {
  const { port } = server;
  const plans = requests.map(request => ({ port, connections, seconds: 1, requests: [request] }));
  for (const plan of plans) await load({ ...plan, seconds: warmUp });
  const rates: number[][] = plans.map(() => []);
  for (let turn = 0; turn < turns; turn++) {
    const order = turn % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) rates[index]!.push(await rateOf(server, plans[index]!));
  }
  return rates.map(undisturbed);
}

/** The mean of the best third, because other programs only make a turn worse, never better. */
function undisturbed(rates: readonly number[]): number {
  const best = rates.toSorted((a, b) => b - a).slice(0, Math.ceil(rates.length / 3));
  return best.reduce((sum, rate) => sum + rate, 0) / best.length;
}

const filled = await fill({ vaults: [50] });
const server = await startServer(filled.place);
const rows: (string | number)[][] = [];
let worst = Number.POSITIVE_INFINITY;
for (const [what, ...requests] of pairsOf(filled.vaults[0]!)) {
  const [native, dialect] = (await compare(server, requests)) as [number, number];
  worst = Math.min(worst, dialect / native);
  rows.push([what, Math.round(native), Math.round(dialect), `${Math.round((100 * dialect) / native)} %`]);
  console.log(rows.at(-1)!.join('  '));
}
await server.stop();
filled.remove();
console.log(table(['what', 'native reads/s', 'dialect reads/s', 'kept'], rows));
if (worst < smallest) {
  console.error(`a read in the dialect reaches less than ${100 * smallest} % of the native one`);
  process.exitCode = 1;
}
