/** Warnings about a valid command line that could be safer. */
import { parseArgs } from 'node:util';

/** One line each. */
export function warningsOf(args: readonly string[]): string[] {
  const { 'database-url': url } = parseArgs({
    args: [...args],
    options: { 'database-url': { type: 'string' } },
    strict: false,
  }).values;
  const { password, searchParams } = URL.parse(String(url ?? '')) ?? {};
  if (!password && !searchParams?.get('password')) return [];
  return [
    'the password in --database-url is visible in the process list: use --database-url-file or STRONGROOM_DATABASE_URL',
  ];
}
