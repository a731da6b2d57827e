/** The flags that name a new root key, and what a slot for it is made of. */
import { ageRecipients } from '../../keyring/root-key/age.ts';
import type { RootKey, RootKeySource, SlotMaterial } from '../../keyring/root-key/root-key.ts';
import { fewestShares, mostShares, splitRootKey } from '../../keyring/root-key/shamir.ts';
import { askNewPassphrase, rootKeySource, transitSource } from '../../service/opening/root-key-sources.ts';
import { placeOptions } from '../../service/settings/command-options.ts';
import { flag, type RootKeyPlace, type readConfig, text, UsageError } from '../../service/settings/config.ts';
import { list, whole } from '../../service/settings/options.ts';

export const newKeyOptions = {
  ...placeOptions,
  'new-root-key-file': text('FILE', 'the new root key; created if the file does not exist'),
  'new-passphrase-file': text('FILE', 'the file with the new passphrase'),
  'new-passphrase-prompt': flag('ask for the new passphrase on the terminal'),
};

export const newSlotOptions = {
  ...newKeyOptions,
  shares: whole('N', 'how many shares to create (default: 3)', 3, fewestShares, mostShares),
  threshold: whole('K', 'how many of the shares open the data (default: 2)', 2, fewestShares, mostShares),
  recipient: list(
    'KEY',
    key => /^age1[0-9a-z]+$/.test(key),
    'must be public keys such as age1…',
    'the public keys (age1…) of which any one opens the data',
  ),
  json: flag('print one JSON object'),
};
export type NewKeyConfig = ReturnType<typeof readConfig<typeof newKeyOptions>>;
export type NewSlotConfig = ReturnType<typeof readConfig<typeof newSlotOptions>>;

/** The place of the new key file or passphrase. */
export function newRootKey(config: NewKeyConfig): RootKeyPlace {
  const { data, 'new-root-key-file': file, 'new-passphrase-file': words } = config;
  const ask = config['new-passphrase-prompt'];
  if ([file !== null, words !== null, ask].filter(Boolean).length !== 1) {
    throw new UsageError(
      'exactly one of --new-root-key-file, --new-passphrase-file and --new-passphrase-prompt is required',
    );
  }
  const place = { data, 'root-key-file': file, 'passphrase-file': words, 'passphrase-prompt': ask };
  return { ...place, passphrase: null };
}

export const newSource = (config: NewKeyConfig): RootKeySource =>
  rootKeySource(newRootKey(config), askNewPassphrase);

/** What was made for a slot; the shares, if there are any, exist only here. */
export interface Made extends SlotMaterial {
  readonly shares?: readonly string[];
}

type Make = (config: NewSlotConfig) => (slot: string) => Promise<Made>;

const keptHere =
  (needed: readonly (keyof typeof newKeyOptions)[]): Make =>
  config => {
    if (needed.every(name => config[name] === null || config[name] === false))
      throw new UsageError(`${needed.map(name => `--${name}`).join(' or ')} is required`);
    const source = newSource(config);
    return async () => ({ root: await source.create(), settings: {} });
  };

/** How to make a slot for each provider, by its name. The configuration is checked before anything is opened. */
export const slotMakers: Readonly<Record<string, Make>> = {
  'key-file': keptHere(['new-root-key-file']),
  passphrase: keptHere(['new-passphrase-file', 'new-passphrase-prompt']),
  shamir: ({ shares, threshold }) => {
    if (threshold > shares) throw new UsageError('--threshold must be at most --shares');
    return slot => splitRootKey(slot, shares, threshold);
  },
  transit: config => {
    const [source] = transitSource(config) ?? [];
    if (source === undefined) throw new UsageError('--transit-key and --transit-token-file are required');
    const settings = { key: config['transit-key']! };
    return async () => ({ root: await source.create(), settings });
  },
  age: ({ recipient }) => {
    if (recipient.length === 0) throw new UsageError('--recipient is required');
    const root: RootKey = ageRecipients(recipient);
    return async () => ({ root, settings: { recipients: recipient.length } });
  },
};
