/**
 * Measures the cost per commit of an embedded database that can release space (`auto_vacuum = INCREMENTAL`,
 * src/store/sqlite/space.ts): two databases, with and without it, take turns in one run. A commit is a group of
 * requests, as the ledger stores it, or an audit entry. `npm run bench:space [-- ROUNDS]` prints medians of the turns,
 * for processor time and elapsed time, and the median of the turns' ratios. The data is in TMPDIR; elapsed time
 * includes its syncs.
 */
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { idGenerator } from '../src/contract/id.ts';
import type { AuditEntry } from '../src/logs/entries.ts';
import { Ledger } from '../src/logs/ledger.ts';
import { Meter } from '../src/metrics/meter.ts';
import { openStore } from '../src/store/store.ts';
import { table } from './bench.ts';
import { entryOf } from './log-entries.ts';

const rounds = Number(process.argv[2] ?? 60);
const warmUps = 5;
const commits = 100;
const inGroup = 30;
const newId = idGenerator(Date.now);
const request = entryOf({ organization: newId(), vault: newId() });
const audit: AuditEntry = {
  organization_id: request.organization_id,
  actor: { kind: 'api-key', id: newId(), name: 'bench' },
  action: 'secret.revealed',
  outcome: 'allowed',
  subject: { type: 'secret', id: newId(), name: 'SECRET' },
  revision: null,
  vault_id: request.vault_id,
  ip_address: '127.0.0.1',
  user_agent: 'bench',
  request_id: newId(),
  details: {},
};
const keyring = { chainMark: (hash: string) => createHmac('sha256', 'k').update(hash).digest('base64url') };
const kinds: Record<string, (ledger: Ledger) => Promise<unknown>> = {
  [`${inGroup} requests`]: ledger =>
    Promise.all(Array.from({ length: inGroup }, () => ledger.record(request))),
  'an audit entry': ledger => ledger.commit([audit]),
};

/** The cost of one commit, in microseconds. */
interface Cost {
  readonly work: number;
  readonly time: number;
}

async function turn(ledger: Ledger, commit: (ledger: Ledger) => Promise<unknown>): Promise<Cost> {
  const began = performance.now();
  const before = process.cpuUsage();
  for (let count = 0; count < commits; count++) await commit(ledger);
  const { user, system } = process.cpuUsage(before);
  return { work: (user + system) / commits, time: ((performance.now() - began) * 1_000) / commits };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

async function open(folder: string, mode: 'NONE' | 'INCREMENTAL') {
  const path = join(folder, `${mode}.db`);
  await (await openStore({ engine: 'sqlite', path, serves: true })).close();
  const database = new DatabaseSync(path, { timeout: 5_000 });
  database.exec(`PRAGMA auto_vacuum = ${mode}; VACUUM`);
  database.close();
  const store = await openStore({ engine: 'sqlite', path, serves: true });
  return { store, ledger: new Ledger({ store, keyring, now: Date.now, newId, meter: new Meter() }) };
}

const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
const without = await open(folder, 'NONE');
const withIt = await open(folder, 'INCREMENTAL');
const rows: (string | number)[][] = [];
for (const [name, commit] of Object.entries(kinds)) {
  const costs: { readonly without: Cost; readonly with: Cost }[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    // The order in a pair alternates, because a disk that was just busy is slower for the next.
    const first = await turn((round % 2 === 0 ? without : withIt).ledger, commit);
    const second = await turn((round % 2 === 0 ? withIt : without).ledger, commit);
    if (round < 0) continue;
    costs.push(round % 2 === 0 ? { without: first, with: second } : { without: second, with: first });
  }
  for (const what of ['work', 'time'] as const) {
    const of = (side: 'without' | 'with') => median(costs.map(cost => cost[side][what])).toFixed(0);
    const ratio = median(costs.map(cost => cost.with[what] / cost.without[what]));
    const label = what === 'work' ? 'processor time, µs' : 'time that passed, µs';
    rows.push([name, label, of('without'), of('with'), ratio.toFixed(3)]);
  }
}
for (const { ledger, store } of [without, withIt]) {
  await ledger.drain();
  await store.close();
}
rmSync(folder, { recursive: true });
console.log(table(['A commit of', 'Median', 'without', 'with', 'ratio'], rows));
