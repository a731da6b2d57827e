/**
 * A log of a million entries is backed up and restored, by the command, on either engine: all of it is there, and the
 * memory that this takes does not grow with it. `npm run campaign:backup` runs the long form and prints time and
 * memory; the tests run a short one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newKeyPair } from '../../src/keyring/age/keys.ts';
import type { AuditEntry } from '../../src/logs/entries.ts';
import { beside, type EngineName, makeOrganization } from '../harness.ts';
import { dataRoot } from '../postgres.ts';

export interface Campaign {
  readonly entries: number;
  readonly from: EngineName;
  readonly to: EngineName;
  readonly freshDatabase: () => Promise<string>;
  readonly say?: (line: string) => void;
}

export interface Measured {
  /** Of the processor, in seconds. */
  readonly seconds: number;
  /** In MiB, at its highest. */
  readonly memory: number;
}

export interface Outcome {
  readonly backup: Measured;
  readonly restore: Measured;
  /** Of the file, in bytes. */
  readonly size: number;
  /** Entries of the audit log that were restored. */
  readonly restored: number;
}

const command = fileURLToPath(new URL('../../bin/strongroom.js', import.meta.url));
const atOnce = 1_000;

export async function runCampaign({
  entries,
  from,
  to,
  freshDatabase,
  say = () => {},
}: Campaign): Promise<Outcome> {
  const folder = await mkdtemp(join(dataRoot(), 'strongroom-campaign-'));
  const place = async (engine: EngineName, name: string) => [
    ...['--data', join(folder, name)],
    ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : []),
  ];
  try {
    const [source, target] = [await place(from, 'from'), await place(to, 'to')];
    await fill(source, entries);
    say(`${entries} entries are in the log`);
    const { recipient, identity } = newKeyPair();
    const [file, key] = [join(folder, 'backup.age'), join(folder, 'key')];
    writeFileSync(key, identity);
    const backup = await measured(['backup', file, '--backup-recipient', recipient], source);
    say(`backup from ${from}: ${toldOf(backup)}, ${statSync(file).size} bytes`);
    await copyFile(join(folder, 'from', 'root.key'), join(folder, 'root.key'));
    const flags = ['--root-key-file', join(folder, 'root.key'), '--backup-key-file', key];
    const restore = await measured(['restore', file, ...flags], target);
    say(`restore to ${to}: ${toldOf(restore)}`);
    const placed = { place: [...target, '--root-key-file', join(folder, 'root.key')] };
    const restored = await beside(placed, async ({ store }) =>
      (await store.logs.heads()).reduce((sum, { seq }) => sum + seq, 0),
    );
    return { backup, restore, size: statSync(file).size, restored };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const toldOf = ({ seconds, memory }: Measured) => `${seconds.toFixed(1)} s of the processor, ${memory} MiB`;

/** As the service writes them: each a link of the chain, signed at the end. */
async function fill(place: readonly string[], entries: number): Promise<void> {
  const { organizationId } = await makeOrganization(place, 'Campaign', 'enterprise', 0);
  await beside({ place }, async ({ domain, newId }) => {
    for (let done = 0; done < entries; done += atOnce) {
      const count = Math.min(atOnce, entries - done);
      await domain.ledger.commit(Array.from({ length: count }, () => entryOf(organizationId, newId())));
    }
  });
}

function entryOf(organizationId: string, id: string): AuditEntry {
  return {
    organization_id: organizationId,
    actor: { kind: 'operator', id: 'operator', name: 'campaign' },
    action: 'secret.revealed',
    outcome: 'allowed',
    subject: { type: 'secret', id, name: 'A_SECRET' },
    revision: null,
    vault_id: null,
    ip_address: '203.0.113.7',
    user_agent: 'campaign',
    request_id: id,
    details: { version: 1 },
  };
}

/** Runs the command, and looks on until it ends. */
async function measured(args: readonly string[], place: readonly string[]): Promise<Measured> {
  const [data, path, , url] = place;
  const env = { ...process.env, ...(url === undefined ? {} : { STRONGROOM_DATABASE_URL: url }) };
  const child = spawn(process.execPath, [command, ...args, data!, path!], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', chunk => {
    said += chunk;
  });
  let last: Measured = { seconds: 0, memory: 0 };
  const looking = setInterval(() => {
    last = usageOf(child.pid!) ?? last;
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(looking);
  if (code !== 0) throw new Error(said);
  return last;
}

function usageOf(pid: number): Measured | null {
  try {
    const [, peak] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
    const times = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return {
      seconds: (Number(times[11]) + Number(times[12])) / 100,
      memory: Math.round(Number(peak) / 1024),
    };
  } catch {
    return null;
  }
}

async function main(): Promise<void> {
  const { startCluster } = await import('../postgres.ts');
  const entries = Number(process.argv[2] ?? 1_000_000);
  const [from = 'sqlite', to = 'postgres'] = process.argv.slice(3) as EngineName[];
  const cluster = await startCluster();
  const { Client } = (await import('pg')).default;
  let made = 0;
  const freshDatabase = async () => {
    const client = new Client(cluster.url);
    await client.connect();
    await client.query(`CREATE DATABASE campaign_${++made}`);
    await client.end();
    return cluster.url.replace(/\/postgres$/, `/campaign_${made}`);
  };
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const outcome = await runCampaign({ entries, from, to, freshDatabase, say });
  say(JSON.stringify(outcome));
  await cluster.stop();
  process.exit(outcome.restored >= entries ? 0 : 1);
}

if (import.meta.main) void main();
