/**
 * A person's own values for the secrets of a vault, on this machine and nowhere else. They are sealed under a random
 * key, bound to the address and the vault. The key is in the system's keyring if there is one, and otherwise in a file
 * beside the profiles that only the person can read.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createDurably, makeFolder, writeDurably } from '../../base/durable-file.ts';
import type { Environment } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { parsed, profilesFile } from './profiles.ts';
import { textSealer } from './sealed-text.ts';
import { systemKeyring } from './system-keyring.ts';

type Values = Readonly<Record<string, string>>;

interface Place {
  readonly url: string;
  readonly vault: string | null;
}

/** The key, or where it is. */
interface KeyFile {
  readonly keyring?: string;
  readonly key?: string;
}

export function personalValues({ url, vault }: Place, environment: Environment) {
  const folder = join(dirname(profilesFile(environment)), 'personal');
  const keyFile = join(folder, 'key.json');
  const sealerFor = (key: string) =>
    textSealer(key, JSON.stringify(['strongroom personal values 1', url, vault ?? 'self']));

  function read(key = keyIn(keyFile, environment)): Values {
    if (key === null) return {};
    const sealer = sealerFor(key);
    const file = join(folder, sealer.name);
    if (!existsSync(file)) return {};
    const opened = sealer.open(readFileSync(file, 'utf8'));
    if (opened === null) throw new Refusal('the personal values were altered, and are not used');
    // Without a prototype, no name has a meaning of its own.
    return Object.assign(Object.create(null), JSON.parse(opened.toString('utf8')));
  }

  return {
    read,
    /** With an environment for the keyring of null, a new key is stored in the file. */
    change: async (change: (before: Values) => Values, keyring: Environment | null) => {
      makeFolder(folder);
      const key = keyIn(keyFile, environment) ?? (await newKey(keyFile, environment, keyring));
      const sealer = sealerFor(key);
      const file = join(folder, sealer.name);
      const after = change(read(key));
      if (Object.keys(after).length > 0)
        await writeDurably(file, sealer.seal(Buffer.from(JSON.stringify(after))));
      else if (existsSync(file)) unlinkSync(file);
    },
  };
}

/** Null if there is none yet. */
function keyIn(file: string, environment: Environment): string | null {
  if (!existsSync(file)) return null;
  if ((statSync(file).mode & 0o077) !== 0)
    throw new Refusal(`${file} can be read by others: chmod 600 it, and replace your personal values`);
  const { keyring, key = null } = parsed(file, readFileSync(file, 'utf8')) as KeyFile;
  const found = keyring === undefined ? key : (systemKeyring(environment)?.find(keyring) ?? null);
  if (typeof found !== 'string' || found === '')
    throw new Refusal(
      `the key of your personal values can’t be read: unlock the system’s keyring, or delete ${dirname(file)} to start again`,
    );
  return found;
}

/** If another command stores a key at the same time, the first one counts. */
async function newKey(file: string, environment: Environment, keyring: Environment | null): Promise<string> {
  const [key, reference] = [randomBytes(32).toString('base64url'), randomUUID()];
  const isKept =
    keyring !== null && systemKeyring(keyring)?.store(reference, 'Strongroom (personal values)', key);
  const stored: KeyFile = isKept ? { keyring: reference } : { key };
  await createDurably(file, `${JSON.stringify(stored)}\n`).catch(error => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isKept) systemKeyring(keyring)?.forget(reference);
  });
  return keyIn(file, environment)!;
}
