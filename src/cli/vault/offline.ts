/**
 * Stores what `run` last read, for use while the service is unavailable. The file is sealed under a key derived from
 * the credential, bound to the requested address and vault, readable only by its owner, and limited in age, size and
 * number. Without the same credential, address and vault, it can't be opened.
 */
import { existsSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder, writeDurably } from '../../base/durable-file.ts';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { homeFolder } from '../connection/profiles.ts';
import { textSealer } from '../connection/sealed-text.ts';
import type { Settings } from '../connection/settings.ts';
import type { Snapshot } from '../connection/vaults.ts';

const mostBytes = 8 * 1024 * 1024;
const mostFiles = 32;
const hour = 3_600_000;

interface Kept {
  readonly at: number;
  readonly snapshot: Snapshot;
}

export function offlineFor(settings: Settings, environment: Environment, now = Date.now) {
  const credential = settings.accessKey ?? settings.apiKey ?? '';
  const sealer = textSealer(
    credential,
    JSON.stringify(['strongroom offline 1', settings.url, settings.vault ?? 'self']),
  );
  const folder = folderIn(environment);
  const file = join(folder, sealer.name);
  return {
    keep: async (snapshot: Snapshot) => {
      const plain = Buffer.from(JSON.stringify({ at: now(), snapshot } satisfies Kept));
      if (plain.length > mostBytes) return;
      makeFolder(folder);
      await writeDurably(file, sealer.seal(plain));
      prune(folder);
    },
    /** Throws if nothing is stored that may still be used. */
    read: (mostHours: number): Kept => {
      if (!existsSync(file)) throw new Refusal('nothing is stored for this address, vault and key');
      const opened = sealer.open(readFileSync(file, 'utf8'));
      if (opened === null) throw new Refusal('the stored values were altered, and are not used');
      const { at, snapshot } = JSON.parse(opened.toString('utf8')) as Kept;
      const age = now() - at;
      if (age >= 0 && age <= mostHours * hour) return { at, snapshot };
      throw new Refusal(`the stored values are older than ${mostHours} hours`);
    },
    forget: () => {
      if (existsSync(file)) unlinkSync(file);
    },
  };
}

function folderIn(environment: Environment): string {
  return join(homeFolder(environment, 'XDG_CACHE_HOME', '.cache'), 'strongroom', 'offline');
}

/** Removes the oldest files beyond the limit. */
function prune(folder: string): void {
  const files = readdirSync(folder).map(name => join(folder, name));
  const ranked = files.map(path => ({ path, at: statSync(path).mtimeMs })).sort((a, b) => b.at - a.at);
  for (const { path } of ranked.slice(mostFiles)) unlinkSync(path);
}
