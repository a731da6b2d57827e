/** `strongroom complete -- WORD...`: prints completions for a shell, one per line. It never fails or prompts. */
import { readOptions } from '../../service/settings/options.ts';
import { adminFor, listed } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import type { Command } from '../terminal/command.ts';
import { printable } from '../terminal/terminal.ts';

const files = ':files';

export type Commands = Readonly<Record<string, () => Promise<{ readonly command: Command }>>>;

export async function complete(commands: Commands, args: readonly string[]): Promise<void> {
  const words = args.slice(args[0] === '--' ? 1 : 0);
  const current = words.at(-1) ?? '';
  const found = await candidates(commands, words.slice(0, -1), current).catch(() => []);
  const shown = found.filter(
    word => word === files || (word.startsWith(current) && printable(word) === word),
  );
  process.stdout.write(shown.map(word => `${word}\n`).join(''));
}

async function candidates(
  commands: Commands,
  before: readonly string[],
  current: string,
): Promise<readonly string[]> {
  const name = nameIn(commands, before);
  if (name === null) return nextWords(commands, before);
  const rest = before.slice(name.split(' ').length);
  if (rest.includes('--')) return [files];
  const { options, completes } = (await commands[name]!()).command;
  const previous = rest.at(-1) ?? '';
  const option = previous.startsWith('--') ? options[previous.slice(2)] : undefined;
  if (option?.value !== undefined) return valuesOf(previous.slice(2), option.value, rest);
  if (current.startsWith('-')) return [...Object.keys(options).map(flag => `--${flag}`), '--help'];
  return argumentsOf(completes, rest);
}

/** Longest first: `mcp config` is not `mcp` with an argument. */
function nameIn(commands: Commands, words: readonly string[]): string | null {
  const known = Object.keys(commands).sort((a, b) => b.length - a.length);
  return known.find(name => `${words.join(' ')} `.startsWith(`${name} `)) ?? null;
}

function nextWords(commands: Commands, before: readonly string[]): string[] {
  const fitting = Object.keys(commands)
    .map(name => name.split(' '))
    .filter(parts => before.every((word, at) => parts[at] === word));
  // None of them is complete, since that would be the name of a command.
  const next = fitting.map(parts => parts[before.length]!);
  return [...new Set([...next, ...(before.length === 0 ? ['help', 'version'] : [])])].sort();
}

async function valuesOf(name: string, value: string, rest: readonly string[]): Promise<readonly string[]> {
  if (value.includes('|')) return value.split('|');
  if (name === 'vault') return namesOf('listVaults', rest);
  if (name === 'only') return secretNames(rest);
  return /FILE|DIR/.test(value) ? [files] : [];
}

function argumentsOf(completes: Command['completes'], rest: readonly string[]) {
  if (completes === 'secrets') return secretNames(rest);
  if (completes === 'keys') return namesInVault('listKeys', rest);
  if (completes === 'certificates') return namesInVault('listCertificates', rest);
  if (completes === 'groups') return namesOf('listGroups', rest);
  if (completes === 'members') return namesOf('listMembers', rest);
  return completes === 'files' ? [files] : (completes ?? []);
}

/** Uses the flags typed so far, with the same checks as the command itself, so that Tab sends a key nowhere else. */
function settingsIn(rest: readonly string[]) {
  const { url, vault, profile } = serviceOptions;
  const given = ['--url', '--vault', '--profile'].flatMap(flag => {
    const value = rest.includes(flag) ? rest[rest.indexOf(flag) + 1] : undefined;
    return value === undefined ? [] : [`${flag}=${value}`];
  });
  return settingsFor(readOptions({ url, vault, profile }, given, process.env), process.env);
}

async function secretNames(rest: readonly string[]): Promise<string[]> {
  return (await vaultOf(settingsIn(rest)).names()).map(({ name }) => name);
}

type Listing = 'listVaults' | 'listGroups' | 'listMembers';

async function namesOf(listing: Listing, rest: readonly string[]): Promise<string[]> {
  const list: Parameters<typeof listed<object, { name: string }>>[0] = adminFor(settingsIn(rest))[listing];
  return (await listed(list)).map(({ name }) => name);
}

async function namesInVault(
  listing: 'listKeys' | 'listCertificates',
  rest: readonly string[],
): Promise<string[]> {
  const settings = settingsIn(rest);
  const admin = adminFor(settings);
  const { id: vault_id } = await admin.vault(settings.vault);
  const list: Parameters<typeof listed<object, { name: string }>>[0] = asked =>
    admin[listing]({ query: { ...asked.query, vault_id } });
  return (await listed(list)).map(({ name }) => name);
}
