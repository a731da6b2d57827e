/**
 * Shows whether a change made the vault read slower: compares the service of an earlier commit with this one, in turns
 * of a second each. `npm run bench:before-and-after -- COMMIT` prints the ratio after/before for a few reads. Both are
 * filled through the API, so any commit works. The last row only concerns this commit: an access key, compared with one
 * that its holder restricted.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { narrow } from '../src/client/narrow.ts';
import { load, readRequest, startServer, type Target, table } from './bench.ts';
import { checkOut, commandIn, here, setUp } from './checkout.ts';

const [commit = 'HEAD~1'] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const turns = 20;
const connections = 32;

interface Side {
  readonly server: Target;
  readonly vault: { readonly id: string; readonly token: string };
}

async function startSide(checkout: string, name: string): Promise<Side> {
  const place = ['--data', join(folder, `data-${name}`)];
  const command = commandIn(checkout);
  const apiKey = setUp(command, place);
  const server = await startServer(place, command);
  const post = async (path: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${server.port}/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response.json() as Promise<{ id: string; token: string }>;
  };
  const { id } = await post('vaults', { name: 'bench' });
  const items = Array.from({ length: 50 }, (_, at) => ({
    vault_id: id,
    name: `SECRET_${at}`,
    value: 'x'.repeat(40),
  }));
  await post('secrets/bulk', { items });
  const { token } = await post('access-keys', { vault_id: id, name: 'bench' });
  return { server, vault: { id, token } };
}

function median(values: number[]): number {
  return values.sort((x, y) => x - y)[values.length >> 1]!;
}

async function ratioOf(
  before: Side,
  after: Side,
  query: string,
  what = query || 'all secrets',
): Promise<(string | number)[]> {
  const plan = ({ server, vault }: Side, seconds: number) =>
    load({ port: server.port, connections, seconds, requests: [readRequest(vault, query)] });
  for (const side of [before, after]) await plan(side, 3);
  const rates = new Map<Side, number[]>([
    [before, []],
    [after, []],
  ]);
  for (let turn = 0; turn < turns; turn++) {
    // The order in a pair alternates, because a disk that was just busy is slower for the next.
    for (const side of turn % 2 === 0 ? [before, after] : [after, before])
      rates.get(side)!.push((await plan(side, 1)).perSecond);
  }
  const [one, other] = [before, after].map(side => median(rates.get(side)!)) as [number, number];
  return [what, Math.round(one), Math.round(other), (other / one).toFixed(3)];
}

const earlier = checkOut(commit, folder);
const before = await startSide(earlier.path, 'before');
const after = await startSide(here, 'after');
const rows: (string | number)[][] = [];
for (const query of ['', '?secrets=names', '?name=SECRET_7']) rows.push(await ratioOf(before, after, query));
const { token } = await narrow(after.vault.token, { names: ['SECRET_*'] });
const restricted = { ...after, vault: { ...after.vault, token } };
rows.push(await ratioOf(after, restricted, '', 'whole and restricted access key'));
await Promise.all([before.server.stop(), after.server.stop()]);
earlier.remove();
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${table(['read', 'before/s', 'after/s', 'after/before'], rows)}\n`);
