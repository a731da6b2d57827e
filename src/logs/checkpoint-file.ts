/**
 * The checkpoint kept outside the database, as evidence of its content. It is never replaced by an older one, and the
 * service starts only with a database that agrees with it. Otherwise a rolled-back or shortened database would be
 * trusted, and the evidence would be lost.
 */
import { createPublicKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { renameDurably, writeDurably } from '../base/durable-file.ts';
import type { Snapshot } from '../store/store.ts';
import {
  type Checkpoint,
  exportLine,
  isSignedBy,
  parseCheckpoint,
  type SignedCheckpoint,
} from './checkpoints.ts';

/** Returns null if the file does not exist. Throws if it does not contain a checkpoint. */
export async function readCheckpointFile(file: string): Promise<SignedCheckpoint | null> {
  const text = await readFile(file, 'utf8').catch(error => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : parseCheckpoint(text);
}

/** Keeps a newer checkpoint of ours, because another replica may use the same file. */
export async function writeCheckpointFile(
  file: string,
  publicKey: string,
  signed: SignedCheckpoint,
): Promise<void> {
  const there = await readCheckpointFile(file).catch(() => null);
  const isNewer = there !== null && numberOf(there) > numberOf(signed);
  if (isNewer && isSignedBy(createPublicKey(publicKey), there)) return;
  await writeDurably(file, exportLine(signed));
}

/** Renames the file to a name with the checkpoint's number. */
export async function putAside(file: string, number: number): Promise<string> {
  const { dir, name, ext } = parse(file);
  const named = (suffix: string) => join(dir, `${name}-${number}${suffix}${ext}`);
  let aside = named('');
  for (let copy = 2; existsSync(aside); copy++) aside = named(`-${copy}`);
  await renameDurably(file, aside);
  return aside;
}

export function numberOf({ body }: SignedCheckpoint): number {
  return (JSON.parse(body) as Checkpoint).number;
}

type StoredLogs = Pick<Snapshot['logs'], 'lastCheckpoint' | 'checkpoints' | 'heads'>;

/**
 * Returns why the database can't be the one for which the checkpoint was signed, or null. Does not check the links
 * themselves, which is the verifier's task.
 */
export async function disagreement(kept: SignedCheckpoint, logs: StoredLogs | null): Promise<string | null> {
  const { number, heads } = JSON.parse(kept.body) as Checkpoint;
  const last = (await logs?.lastCheckpoint())?.number ?? 0;
  if (logs === null || last < number)
    return `it ends at checkpoint ${last}, but checkpoint ${number} was kept`;
  const [oldest] = await logs.checkpoints(0, 1);
  const [stored] = await logs.checkpoints(number - 1, 1);
  const isDropped = number < oldest!.number;
  if (!isDropped && (stored?.number !== number || stored.body !== kept.body))
    return `its checkpoint ${number} is not the one that was kept`;
  const reached = new Map((await logs.heads()).map(head => [`${head.stream} ${head.writer}`, head]));
  for (const { stream, writer, seq, hash } of heads) {
    const head = reached.get(`${stream} ${writer}`);
    if (head === undefined || head.seq < seq || (head.seq === seq && head.hash !== hash))
      return `its ${stream} log does not match what checkpoint ${number} signed`;
  }
  return null;
}
