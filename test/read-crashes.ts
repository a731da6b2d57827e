/** Kills the service without warning in the middle of vault reads, and looks for the entry of every answer that came. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseSource } from '../src/logs/source.ts';
import { verifyLogs } from '../src/logs/verify.ts';
import { openLogs } from '../src/service/opening/open-data.ts';
import { placeOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { setup, start, stop } from './command.ts';
import { callService } from './harness.ts';

export interface ReadToll {
  readonly answers: number;
  /** Entries in the log after the last kill. */
  readonly written: number;
  /** Entries that the next start lists, in all and by vault. */
  readonly listed: readonly number[];
  readonly findings: readonly { readonly what: string; readonly where: string }[];
}

const readersAtOnce = 16;

/** Reads until so many answers came; each kill comes at a moment of its own. */
export async function crashReads(answersWanted: number, answersPerLife: number): Promise<ReadToll> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-reads-'));
  const place = ['--data', folder];
  try {
    const key = await setup(place);
    const { vaultId, token } = await prepare(place, key);
    const receipts: string[] = [];
    while (receipts.length < answersWanted)
      await readUntilKilled(place, vaultId, token, receipts, answersPerLife);
    const { entries, findings } = await verify(place, folder, receipts);
    const listed = await listAfterStart(place, key, vaultId);
    const later = await verify(place, folder, receipts);
    return {
      answers: receipts.length,
      written: entries.request,
      listed,
      findings: [...findings, ...later.findings],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function prepare(place: readonly string[], key: string): Promise<{ vaultId: string; token: string }> {
  const service = start(['serve', ...place, '--port', '0']);
  const url = await service.url;
  const post = async (path: string, body: object) => (await callService(url, 'POST', path, body, key)).body;
  const vault = await post('/v1/vaults', { name: 'v' });
  await post('/v1/secrets', { vault_id: vault.id, name: 'S', value: 'x' });
  const { token } = await post('/v1/access-keys', { vault_id: vault.id, name: 'k' });
  await stop(service);
  return { vaultId: vault.id, token };
}

async function readUntilKilled(
  place: readonly string[],
  vaultId: string,
  token: string,
  receipts: string[],
  answers: number,
): Promise<void> {
  const service = start(['serve', ...place, '--port', '0']);
  const url = await service.url;
  const end = receipts.length + Math.ceil(answers * (0.5 + Math.random()));
  const read = async () => {
    while (receipts.length < end) {
      const answer = await callService(url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, token).catch(
        () => null,
      );
      if (answer === null) return;
      if (answer.status === 200) receipts.push(answer.headers.get('strongroom-receipt')!);
      if (receipts.length >= end) service.child.kill('SIGKILL');
    }
  };
  await Promise.all([...Array.from({ length: readersAtOnce }, read), service.ended]);
}

async function listAfterStart(place: readonly string[], key: string, vaultId: string): Promise<number[]> {
  const service = start(['serve', ...place, '--port', '0']);
  const url = await service.url;
  const total = async (query: string) => {
    const list = await callService(url, 'GET', `/v1/request-logs${query}`, undefined, key);
    return list.body.pagination.total as number;
  };
  const totals = [await total(''), await total(`?vault_id=${vaultId}`)];
  await stop(service);
  return totals;
}

async function verify(place: readonly string[], folder: string, receipts: readonly string[]) {
  const publicKey = await readFile(join(folder, 'log-public-key.pem'), 'utf8');
  const store = await openLogs(readConfig(placeOptions, place, {}));
  try {
    return await verifyLogs(databaseSource(store), { publicKey, receipts });
  } finally {
    await store.close();
  }
}
