/**
 * Measures the cost of a change, compared with an earlier commit, in turns in one run; each turn has the same number of
 * changes over 32 connections. `npm run bench:writes -- COMMIT [sqlite|postgres]` prints the changes per second on each
 * side, and the service's processor time per change. The latter is least disturbed by other load; on PostgreSQL, it
 * does not include the database itself.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';
import { load, row, table } from './bench.ts';
import { checkOut, here } from './checkout.ts';
import { requestOf, type Side as Started, startSide } from './side.ts';

const [commit = 'HEAD~1', engine = 'sqlite'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const turns = 5;
/** Turns that are not counted, to warm up the code. */
const warmUps = 2;
const connections = 32;

interface Side extends Started {
  readonly vaultId: string;
  /** The secrets that were created and not deleted yet. */
  readonly secretIds: string[];
  made: number;
}

interface Cost {
  /** Changes per second. */
  readonly rate: number;
  /** Processor time per change, in microseconds. */
  readonly work: number;
}

interface Kind {
  /** Requests per turn, and changes per request. */
  readonly requests: number;
  readonly changes: number;
  readonly request: (side: Side) => string;
}

const kinds: Record<string, Kind> = {
  'create one': { requests: 1000, changes: 1, request: side => asked(side, 'POST', '', newSecret(side)) },
  'create 100 by bulk': {
    requests: 32,
    changes: 100,
    request: side =>
      asked(side, 'POST', '/bulk', { items: Array.from({ length: 100 }, () => newSecret(side)) }),
  },
  'update a value': {
    requests: 1000,
    changes: 1,
    request: side =>
      asked(side, 'PUT', `/${side.secretIds[side.made++ % side.secretIds.length]}`, { value: value() }),
  },
  'update 100 by bulk': {
    requests: 32,
    changes: 100,
    request: side => {
      const ids = Array.from({ length: 100 }, () => side.secretIds[side.made++ % side.secretIds.length]);
      return asked(side, 'POST', '/bulk', { items: ids.map(id => ({ id, value: value() })) });
    },
  },
  delete: { requests: 1000, changes: 1, request: side => asked(side, 'DELETE', `/${side.secretIds.pop()}`) },
};

function value(): string {
  return 'x'.repeat(40);
}

function newSecret(side: Side): object {
  return { vault_id: side.vaultId, name: `SECRET_${side.made++}`, value: value() };
}

function asked({ key: token }: Side, method: string, path: string, body?: object): string {
  return requestOf({ method, path: `/v1/secrets${path}`, token, ...(body && { body }) });
}

async function begin(checkout: string, name: string): Promise<Side> {
  const database = engine === 'postgres' ? ['--database-url', await freshDatabase()] : [];
  const side = await startSide(checkout, ['--data', join(folder, `data-${name}`), ...database]);
  const { id } = await side.post('vaults', { name: 'bench' });
  return { ...side, vaultId: id, secretIds: [], made: 0 };
}

/** Ensures that there is enough to change and delete. */
async function stock(side: Side): Promise<void> {
  while (side.secretIds.length < 2000) {
    const items = Array.from({ length: 100 }, () => newSecret(side));
    const { results } = await side.post('secrets/bulk', { items });
    side.secretIds.push(...results.map(({ secret }: { secret: { id: string } }) => secret.id));
  }
}

async function costOf(side: Side, { requests, changes, request }: Kind): Promise<Cost> {
  await stock(side);
  const before = side.server.processorTime();
  const plan = { port: side.server.port, connections, once: true, seconds: 60 };
  const { perSecond, statuses } = await load({
    ...plan,
    requests: Array.from({ length: requests }, () => request(side)),
  });
  const stored = statuses['200'] ?? 0;
  // On an overloaded machine, a request may time out; more than a few indicate an error.
  if (stored < requests * 0.9) throw new Error(`not all was stored: ${JSON.stringify(statuses)}`);
  const work = side.server.processorTime() - before;
  return { rate: perSecond * changes, work: (work * 1000) / (stored * changes) };
}

async function compare(before: Side, after: Side, name: string): Promise<(string | number)[]> {
  const kind = kinds[name]!;
  const costs = new Map<Side, Cost[]>([
    [before, []],
    [after, []],
  ]);
  for (let turn = -warmUps; turn < turns; turn++) {
    for (const side of turn % 2 === 0 ? [before, after] : [after, before]) {
      const cost = await costOf(side, kind);
      if (turn >= 0) costs.get(side)!.push(cost);
    }
  }
  // The best turn of each side, because disturbances only make a turn slower.
  const rates = [before, after].map(side => Math.max(...costs.get(side)!.map(({ rate }) => rate)));
  const works = [before, after].map(side => Math.min(...costs.get(side)!.map(({ work }) => work)));
  const faster = ratio(rates[1]!, rates[0]!);
  return [name, ...rates.map(Math.round), faster, ...works.map(Math.round), ratio(works[0]!, works[1]!)];
}

function ratio(one: number, other: number): string {
  return (one / other).toFixed(2);
}

if (engine === 'postgres') await globalSetup();
const earlier = checkOut(commit, folder);
const before = await begin(earlier.path, 'before');
const after = await begin(here, 'after');
const heads = ['change', 'before/s', 'after/s', 'faster', 'µs before', 'µs after', 'less work'];
process.stdout.write(`${table(heads, [])}\n`);
for (const name of Object.keys(kinds)) process.stdout.write(`${row(await compare(before, after, name))}\n`);
await Promise.all([before.server.stop(), after.server.stop()]);
earlier.remove();
rmSync(folder, { recursive: true, force: true });
if (engine === 'postgres') await globalTeardown();
