/** Warnings about a valid command line that could be safer. */
import { parseArgs } from 'node:util';
import { addressIn } from '../../store/postgres/address.ts';

const urlFlags = ['database-url', 'database-listen-url'] as const;

/** One line each. */
export function warningsOf(args: readonly string[]): string[] {
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(urlFlags.map(name => [name, { type: 'string' as const }])),
    strict: false,
  });
  return urlFlags.filter(name => hasPassword(String(values[name] ?? ''))).map(visible);
}

function hasPassword(url: string): boolean {
  try {
    return addressIn(url).password !== null;
  } catch {
    return false; // Refused later, when the command line is parsed.
  }
}

function visible(name: (typeof urlFlags)[number]): string {
  const file = name === 'database-url' ? '--database-url-file, ' : '';
  const variable = `STRONGROOM_${name.toUpperCase().replaceAll('-', '_')}`;
  return `the password in --${name} is visible in the process list: use ${file}--database-password-file or ${variable}`;
}
