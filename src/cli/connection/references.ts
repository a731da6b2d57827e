/** Parses and resolves references of the form `sr://vault/NAME`. */
import { Refusal } from '../../service/settings/report.ts';
import { unknownSecret } from './secret.ts';
import type { Settings } from './settings.ts';
import { type Snapshot, vaultOf, wholeVault } from './vaults.ts';

interface Reference {
  readonly vault: string;
  readonly name: string;
}

const form = /^sr:\/\/([^/\s]+)\/(\S+)$/;

/** Null for any other text. Parts may be percent-encoded. */
export function referenceIn(text: string): Reference | null {
  const found = form.exec(text);
  if (found === null) return null;
  const [, vault, name] = found as unknown as [string, string, string];
  try {
    return { vault: decodeURIComponent(vault), name: decodeURIComponent(name) };
  } catch {
    throw new Refusal('a reference contains an invalid percent-encoding');
  }
}

/** Each vault is read once, however many references name it. `self` is the vault of the settings. */
export function resolver(settings: Settings) {
  const read = new Map<string, Promise<Snapshot>>();
  const snapshotOf = (vault: string) => {
    const found = read.get(vault) ?? wholeVault(vaultOf(settings, vault === 'self' ? settings.vault : vault));
    read.set(vault, found);
    return found;
  };
  return async ({ vault, name }: Reference): Promise<string> => {
    const { secrets } = await snapshotOf(vault);
    const found = secrets.find(one => one.name === name.normalize('NFC'));
    if (found === undefined) throw unknownSecret(name);
    return found.value;
  };
}
