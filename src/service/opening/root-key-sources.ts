/**
 * Where the root key comes from, as the operator has configured it. Everything that opens a keyring opens it with these
 * sources: those on this machine first, because they answer at once and need no network.
 */
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { once } from '../../base/memo.ts';
import { ageIdentities } from '../../keyring/root-key/age.ts';
import { keyFile } from '../../keyring/root-key/key-file.ts';
import { passphrase } from '../../keyring/root-key/passphrase.ts';
import { RootKeyError, type RootKeySource } from '../../keyring/root-key/root-key.ts';
import { shares } from '../../keyring/root-key/shamir.ts';
import { KeyringWrapper } from '../../keyring/stored-keyring.ts';
import { inData, type RootKeyPlace, UsageError } from '../settings/config.ts';
import { transitAt } from './transit-source.ts';

type Ask = () => Promise<string>;

export function keyringWrapperOf(place: RootKeyPlace): KeyringWrapper {
  return new KeyringWrapper(rootKeySource(place), ...furtherSources(place));
}

/** The source of the only root key, or of a new one. */
export function rootKeySource(place: RootKeyPlace, ask: Ask = askPassphrase): RootKeySource {
  const file = place['passphrase-file'];
  if (file !== null) return passphrase(() => readPassphrase(file));
  if (place['passphrase-prompt']) return passphrase(once(ask));
  if (place.passphrase !== null) return passphrase(async () => place.passphrase!);
  return keyFile(place['root-key-file'] ?? inData(place, 'root.key'));
}

function furtherSources(place: RootKeyPlace): readonly RootKeySource[] {
  const { 'age-identity-file': identities = null, 'share-file': shareFile = null } = place;
  const hasPassphrase =
    place['passphrase-file'] !== null || place['passphrase-prompt'] || place.passphrase !== null;
  const file = place['root-key-file'];
  return [
    ...(hasPassphrase && file !== null ? [keyFile(file)] : []),
    ...(identities === null ? [] : [ageIdentities(() => readText('age identities', identities))]),
    ...(shareFile === null ? [] : [shares(() => readText('shares', shareFile))]),
    ...(transitSource(place) ?? []),
  ];
}

/** The transit engine that the operator named, if any. */
export function transitSource(place: RootKeyPlace): readonly [RootKeySource] | null {
  const { 'transit-key': key = null, 'transit-token-file': tokenFile = null } = place;
  if ((key === null) !== (tokenFile === null))
    throw new UsageError('--transit-key and --transit-token-file are only valid together');
  return key === null ? null : [transitAt({ key, tokenFile: tokenFile! })];
}

function readText(what: string, file: string): Promise<string> {
  return readFile(file, 'utf8').catch(cause => {
    throw new RootKeyError(`the file of ${what} ${file} can’t be read`, cause);
  });
}

function readPassphrase(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(cause => {
    throw new RootKeyError(`the passphrase file ${file} can’t be read`, cause);
  });
}

/** The same settings with the passphrase, asked for if necessary, because the threads of a service need it again. */
export async function withAskedPassphrase<P extends RootKeyPlace>(place: P): Promise<P> {
  if (!place['passphrase-prompt'] || place['passphrase-file'] !== null) return place;
  return { ...place, 'passphrase-prompt': false, passphrase: await askPassphrase() };
}

/** Asks twice, because a typing error in a new passphrase would make the data inaccessible. */
export async function askNewPassphrase(): Promise<string> {
  const first = await askPassphrase('New passphrase');
  if (first !== (await askPassphrase('Repeat passphrase')))
    throw new RootKeyError('the passphrases do not match');
  return first;
}

async function askPassphrase(question = 'Passphrase'): Promise<string> {
  if (!process.stdin.isTTY) throw new RootKeyError('a terminal is required to ask for a passphrase');
  process.stderr.write(`${question}: `);
  const prompt = createInterface({ input: process.stdin, terminal: true });
  const line = await prompt.question('');
  prompt.close();
  process.stderr.write('\n');
  return line;
}
