/**
 * Shows whether a change made the service slower: compares the service of an earlier commit with this one, in turns of
 * a second each. `npm run bench:before-and-after -- COMMIT` prints requests per second and processor time per request
 * for reads, a list, a change and a call with a secret, then the start and the idle memory. Both are filled through the
 * API, so any commit works. Two rows only concern this commit: an access key, compared with one that its holder
 * restricted. Rates are noisy on a busy machine; processor time is less so.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { narrow } from '../src/client/narrow.ts';
import { load, startBeside, table } from './bench.ts';
import { checkOut, here } from './checkout.ts';
import { requestOf, type Side, startSide } from './side.ts';
import { startHeads, startRows } from './start.ts';

const [commit = 'HEAD~1'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const turns = 12;
const connections = 32;
const upstream = await startBeside('upstream.ts', '0');

interface Filled extends Side {
  readonly vaultId: string;
  readonly secretIds: readonly string[];
  readonly token: string;
}

async function fill(checkout: string, name: string): Promise<Filled> {
  const place = ['--data', join(folder, `data-${name}`)];
  const side = await startSide(checkout, place, ['--allow-private-webhooks', '127.0.0.0/8']);
  const { id: vault_id } = await side.post('vaults', { name: 'bench' });
  const items = Array.from({ length: 50 }, (_, at) => ({
    vault_id,
    name: `SECRET_${at}`,
    value: `ghp_${'x7Q'.repeat(12)}${at}`,
  }));
  const { results } = await side.post('secrets/bulk', { items });
  const secretIds = results.map(({ secret }: { secret: { id: string } }) => secret.id);
  const { token } = await side.post('access-keys', { vault_id, name: 'bench', may_use: true });
  await side.post('use-rules', {
    secret_id: secretIds[0],
    name: 'bench',
    hosts: [`http://localhost:${upstream.port}`],
    methods: ['GET'],
    paths: ['/**'],
    place: { type: 'bearer' },
    approval: 'never',
    rate_limit: null,
  });
  return { ...side, vaultId: vault_id, secretIds, token };
}

const read =
  (query = '') =>
  ({ vaultId, token }: Filled) => [requestOf({ path: `/api/v1/vaults/${vaultId}${query}`, token })];

const kinds: Readonly<Record<string, (side: Filled) => string[]>> = {
  'read all secrets': read(),
  'read names': read('?secrets=names'),
  'read one secret': read('?name=SECRET_7'),
  'list 20 secrets': ({ vaultId, key }) => [
    requestOf({ path: `/v1/secrets?vault_id=${vaultId}`, token: key }),
  ],
  'update a value': ({ secretIds, key: token }) =>
    secretIds.map(id =>
      requestOf({ method: 'PUT', path: `/v1/secrets/${id}`, token, body: { value: 'y'.repeat(40) } }),
    ),
  'call with a secret': ({ vaultId, token }) => {
    const body = { secret: 'SECRET_0', url: `http://localhost:${upstream.port}/issues/7` };
    return [requestOf({ method: 'POST', path: `/api/v1/vaults/${vaultId}/use`, token, body })];
  },
};

interface Figures {
  /** Requests per second. */
  readonly rate: number;
  /** Processor time per request, in microseconds. */
  readonly work: number;
}

async function measure({ server }: Side, requests: readonly string[], seconds: number): Promise<Figures> {
  const before = server.processorTime();
  const { perSecond, statuses } = await load({
    port: server.port,
    connections,
    seconds,
    requests,
  });
  const { 200: answered = 0, ...others } = statuses;
  // Two updates of one secret at the same time conflict; more than a few failures indicate an error.
  if (Object.values(others).reduce((sum, one) => sum + one, 0) > answered / 10)
    throw new Error(`not all were answered: ${JSON.stringify(statuses)}`);
  return { rate: perSecond, work: ((server.processorTime() - before) * 1000) / answered };
}

function median(all: readonly Figures[], of: keyof Figures): number {
  return all.map(one => one[of]).sort((x, y) => x - y)[all.length >> 1]!;
}

async function compare(
  what: string,
  sides: readonly [Filled, Filled],
  request: (side: Filled) => string[],
): Promise<(string | number)[]> {
  const [before, after] = sides.map(side => ({ side, figures: [] as Figures[] }));
  for (const { side } of [before!, after!]) await measure(side, request(side), 3);
  for (let turn = 0; turn < turns; turn++) {
    // The order in a pair alternates, because a disk that was just busy is slower for the next.
    for (const { side, figures } of turn % 2 === 0 ? [before!, after!] : [after!, before!])
      figures.push(await measure(side, request(side), 1));
  }
  const of = (name: keyof Figures) => {
    const [one, other] = [median(before!.figures, name), median(after!.figures, name)];
    return [Math.round(one), Math.round(other), (other / one).toFixed(3)];
  };
  return [what, ...of('rate'), ...of('work')];
}

const earlier = checkOut(commit, folder);
const sides = [await fill(earlier.path, 'before'), await fill(here, 'after')] as const;
const rows: (string | number)[][] = [];
for (const [what, request] of Object.entries(kinds)) {
  rows.push(await compare(what, sides, request));
  process.stderr.write(`${rows.at(-1)!.join('  ')}\n`);
}
const [, whole] = sides;
const restricted = { ...whole, token: (await narrow(whole.token, { names: ['SECRET_*'] })).token };
rows.push(await compare('read all, whole and restricted access key', [whole, restricted], read()));
await Promise.all(sides.map(({ server }) => server.stop()));
await upstream.stop();
const heads = ['request', 'before/s', 'after/s', 'after/before', 'µs before', 'µs after', 'after/before'];
process.stdout.write(`${table(heads, rows)}\n\n`);
process.stdout.write(`${table(startHeads, await startRows(earlier.path, folder))}\n`);
earlier.remove();
rmSync(folder, { recursive: true, force: true });
