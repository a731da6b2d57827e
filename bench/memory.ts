/**
 * Measures the memory of a service under a constant load: reads of many vaults and changes of their secrets at a fixed
 * rate, and the resident memory for each minute.
 *
 *   npm run bench:memory -- [MINUTES] [sqlite|postgres]
 *
 * Exits with 1 if memory still grew by more than a MiB per minute in the last third of the time.
 */
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';
import { fill, load, readRequest, row, startServer, table } from './bench.ts';
import { commandIn, here, setUp } from './checkout.ts';

const [minutes = '30', engine = 'sqlite'] = process.argv.slice(2);
const vaults = 200;
const perSecond = 300;
const mostAdded = 1;

async function made(port: number, token: string, path: string, body: object) {
  const response = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return ((await response.json()) as { id: string }).id;
}

function changeRequest(token: string, id: string): string {
  const body = JSON.stringify({ value: 'y'.repeat(40) });
  const head = `PUT /v1/secrets/${id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n`;
  return `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** In MiB per minute, by linear regression. */
function added(memory: readonly number[]): number {
  const middle = (memory.length - 1) / 2;
  const mean = memory.reduce((sum, one) => sum + one, 0) / memory.length;
  const [over, under] = memory.reduce(
    ([a, b], one, at) => [a + (at - middle) * (one - mean), b + (at - middle) ** 2],
    [0, 0],
  );
  return under === 0 ? 0 : over / under;
}

if (engine === 'postgres') await globalSetup();
const databaseUrl = engine === 'postgres' ? await freshDatabase() : undefined;
const filled = await fill({
  vaults: Array.from({ length: vaults }, () => 10),
  ...(databaseUrl !== undefined && { databaseUrl }),
});
const token = setUp(commandIn(here), filled.place, 'Changing');
const server = await startServer(filled.place, undefined, 'any');
const vaultId = await made(server.port, token, 'vaults', { name: 'changing' });
const secretId = await made(server.port, token, 'secrets', { vault_id: vaultId, name: 'A', value: 'x' });
// Nine reads to a change.
const requests = Array.from({ length: 10 * vaults }, (_, at) => {
  const vault = filled.vaults[at % vaults]!;
  return at % 10 === 9 ? changeRequest(token, secretId) : readRequest(vault);
});
const memory = [server.memory()];
process.stdout.write(`${table(['minute', 'MiB', 'answered'], [[0, memory[0]!, '']])}\n`);
for (let minute = 1; minute <= Number(minutes); minute++) {
  const { statuses } = await load({
    port: server.port,
    connections: 16,
    seconds: 60,
    requests,
    rate: perSecond,
  });
  memory.push(server.memory());
  process.stdout.write(`${row([minute, memory.at(-1)!, JSON.stringify(statuses)])}\n`);
}
await server.stop();
filled.remove();
if (engine === 'postgres') await globalTeardown();
const last = added(memory.slice(-Math.ceil(memory.length / 3)));
process.stdout.write(`\nadded in the last third: ${last.toFixed(2)} MiB a minute\n`);
process.exitCode = last > mostAdded ? 1 : 0;
