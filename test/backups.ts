/** Backups as the command takes and restores them, in this process. */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backupToFile, bytesIn, type Taken } from '../src/backup/backup.ts';
import type { OpenKeyring, Restored } from '../src/backup/load-and-verify.ts';
import { restoreTo } from '../src/backup/restore.ts';
import { type AgeIdentity, identityFrom, newKeyPair, recipientFrom } from '../src/keyring/age/keys.ts';
import { locationOf } from '../src/service/opening/open-data.ts';
import { keyringWrapperOf } from '../src/service/opening/root-key-sources.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { type DataPlace, readConfig } from '../src/service/settings/config.ts';
import type { EngineName } from './harness.ts';
import { dataFolder, freshDatabase } from './postgres.ts';

export const pair = newKeyPair();
export const identity: AgeIdentity = identityFrom(pair.identity)!;

export const configOf = (place: readonly string[]): DataPlace => readConfig(serveOptions, place, {});

export function openerOf(config: DataPlace): OpenKeyring {
  const wrapper = keyringWrapperOf(config);
  return stored => wrapper.unwrap(stored);
}

export function take(place: readonly string[], file: string): Promise<Taken> {
  const config = configOf(place);
  const recipients = [recipientFrom(pair.recipient)!];
  const parts = { location: locationOf(config, false), recipients, version: 'test', now: Date.now };
  return backupToFile(parts, file, openerOf(config));
}

/** An empty place that has the root key of another. */
export async function emptyPlace(engine: EngineName, data: string): Promise<string[]> {
  const folder = await dataFolder();
  await copyFile(join(data, 'root.key'), join(folder, 'root.key'));
  return ['--data', folder, ...(engine === 'postgres' ? ['--database-url', await freshDatabase()] : [])];
}

export function restoreFrom(
  source: string | AsyncIterable<Uint8Array>,
  place: readonly string[],
  as: AgeIdentity = identity,
): Promise<Restored> {
  const config = configOf(place);
  const parts = {
    source: typeof source === 'string' ? bytesIn(source) : source,
    identity: as,
    openKeyring: openerOf(config),
  };
  return restoreTo(locationOf(config, false), parts, async restored => restored);
}
