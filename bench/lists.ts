/**
 * Compares the cost of a page of a list among 100,000 secrets in 1,000 vaults with that among 1,000 in 10. Both are
 * measured in turns in one run, through the domain, so that the ratios hold on any machine. More than 3 is a failure.
 *
 *   npm run bench:lists [-- sqlite|postgres]
 *   npm run bench:lists -- COMMIT    compares lists and first reads with that commit: `lists-before-and-after.ts`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Caller } from '../src/access/caller.ts';
import { operatorOf } from '../src/cli/service/operator.ts';
import { openStrongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { type AskingDomain, askingDomain } from '../test/asking.ts';
import { freshDatabase, globalSetup, globalTeardown } from '../test/postgres.ts';

const secretsPerVault = 100;
const rounds = 150;
const most = 3;

interface Filled {
  readonly domain: AskingDomain;
  readonly caller: Caller;
  readonly vaultId: string;
  readonly newest: string;
  close(): Promise<void>;
}

type Ask = (filled: Filled) => Promise<unknown>;

const page = { page: 1, limit: 20 };
const asks: Record<string, Ask> = {
  'secrets, first page': ({ domain, caller }) => domain.secrets.list(caller, page),
  'secrets, second page as of the first': ({ domain, caller, newest }) =>
    domain.secrets.list(caller, { page: 2, limit: 20, as_of: newest }),
  'secrets of one vault': ({ domain, caller, vaultId }) =>
    domain.secrets.list(caller, { ...page, vault_id: vaultId }),
  'active secrets': ({ domain, caller }) => domain.secrets.list(caller, { ...page, state: 'active' }),
  'secrets by a tag': ({ domain, caller }) => domain.secrets.list(caller, { ...page, tag: 'place=first' }),
  'all resources, first page': ({ domain, caller }) => domain.resources.list(caller, page),
  'audit log, first page': ({ domain, caller }) => domain.logs.audits(caller, page),
};

/** Their cost grows with the number of skipped entries; shown for information. */
const linear: Record<string, Ask> = {
  'search within names': ({ domain, caller }) =>
    domain.secrets.list(caller, { ...page, q: 'nothing like it' }),
  'secrets, last page': async ({ domain, caller }) => {
    const { total } = (await domain.secrets.list(caller, page)).pagination;
    await domain.secrets.list(caller, { page: Math.ceil(total / 20), limit: 20 });
  },
};

const chosen = process.argv[2];
let failed = false;
if (chosen === undefined || chosen === 'sqlite') await measure('sqlite');
if (chosen === undefined || chosen === 'postgres') {
  await globalSetup();
  await measure('postgres').finally(globalTeardown);
}
if (chosen !== undefined && !['sqlite', 'postgres'].includes(chosen)) {
  await (await import('./lists-before-and-after.ts')).compare(chosen);
}
process.exitCode = failed ? 1 : 0;

async function measure(engine: 'sqlite' | 'postgres'): Promise<void> {
  const small = await fill(engine, 10);
  const large = await fill(engine, 1_000);
  console.log(`\n${engine}: 100,000 secrets in 1,000 vaults over 1,000 in 10`);
  for (const [name, ask] of Object.entries(asks)) {
    const ratio = await ratioOf(ask, small, large, rounds);
    failed ||= ratio > most;
    console.log(`  ${name.padEnd(40)} ${ratio.toFixed(2)}${ratio > most ? '  too much' : ''}`);
  }
  for (const [name, ask] of Object.entries(linear)) {
    const ratio = await ratioOf(ask, small, large, 10);
    console.log(`  ${name.padEnd(40)} ${ratio.toFixed(2)}  (in proportion)`);
  }
  await small.close();
  await large.close();
}

/** The ratio of the medians; both take turns, so that other load on the machine affects both. */
async function ratioOf(ask: Ask, small: Filled, large: Filled, times: number): Promise<number> {
  const taken: [number[], number[]] = [[], []];
  for (let round = 0; round < times + 10; round++) {
    for (const [index, filled] of [small, large].entries()) {
      const start = performance.now();
      await ask(filled);
      if (round >= 10) taken[index]!.push(performance.now() - start);
    }
  }
  return median(taken[1]) / median(taken[0]);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

async function fill(engine: 'sqlite' | 'postgres', vaults: number): Promise<Filled> {
  const data = await mkdtemp(join(tmpdir(), 'strongroom-bench-'));
  const url = engine === 'postgres' ? await freshDatabase() : null;
  const flags = ['--data', data, ...(url === null ? [] : ['--database-url', url])];
  const strongroom = await openStrongroom(readConfig(serveOptions, flags, {}), true);
  const domain = askingDomain(strongroom.domain);
  const operator = (id: string) => operatorOf(id, strongroom.newId);
  const plan = { plan: 'enterprise', enterpriseLimit: 0 } as const;
  const { id } = await domain.organizations.create(operator, 'Bench', plan);
  const caller = operator(id);
  let vaultId = '';
  for (let at = 0; at < vaults; at++) vaultId = await fillVault(domain, caller, at);
  if (url !== null) await analyse(url);
  const { data: listed } = await domain.secrets.list(caller, page);
  const close = async () => {
    await strongroom.close();
    await rm(data, { recursive: true });
  };
  return { domain, caller, vaultId, newest: listed[0]!.id, close };
}

async function fillVault(domain: AskingDomain, caller: Caller, number: number): Promise<string> {
  const { id } = await domain.vaults.create(caller, { name: `vault ${number}` });
  const secrets = Array.from({ length: secretsPerVault }, (_, at) =>
    domain.secrets.create(caller, {
      vault_id: id,
      name: `SECRET_${at}`,
      value: 'a value of usual length',
      tags: at === 0 && number < 10 ? { place: 'first' } : { place: 'other' },
    }),
  );
  await Promise.all(secrets);
  return id;
}

/** Without statistics, the first query plans after a bulk load are bad. */
async function analyse(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('ANALYZE');
  await client.end();
}
