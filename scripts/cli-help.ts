/**
 * Writes `src/cli/help-lines.ts`, the lines of `strongroom help`, from the commands themselves, so that the help loads
 * none of them. Run `npm run cli:help` after a command's usage or summary changes; a test compares the two.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { groups } from '../src/cli/commands.ts';
import type { HelpLine } from '../src/cli/terminal/command.ts';

export async function declaredLines(): Promise<Record<string, HelpLine>> {
  const loads = Object.values(groups).flatMap(group => Object.entries(group));
  const lines = loads.map(async ([name, load]) => {
    const { usage, summary } = (await load()).command;
    return [name, { usage, summary }] as const;
  });
  return Object.fromEntries(await Promise.all(lines));
}

const quoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function sourceOf(lines: Readonly<Record<string, HelpLine>>): string {
  const entries = Object.entries(lines).map(
    ([name, { usage, summary }]) =>
      `  ${/^\w+$/.test(name) ? name : quoted(name)}: {\n    usage: ${quoted(usage)},\n    summary: ${quoted(summary)},\n  },\n`,
  );
  return `/** The lines of \`strongroom help\`. Written by \`npm run cli:help\`; don't edit it. */
import type { HelpLine } from './terminal/command.ts';

export const helpLines: Readonly<Record<string, HelpLine>> = {
${entries.join('')}};
`;
}

if (import.meta.main) {
  const file = fileURLToPath(new URL('../src/cli/help-lines.ts', import.meta.url));
  declaredLines().then(lines => writeFileSync(file, sourceOf(lines)));
}
