/** `strongroom doctor`: examines an installation, and reports faults and their remedies. */
import { type CheckResult, worstOf } from '../../service/doctor/check.ts';
import { checkNames, examine } from '../../service/doctor/doctor.ts';
import { serveOptions } from '../../service/settings/command-options.ts';
import { flag, readConfig } from '../../service/settings/config.ts';
import { names } from '../../service/settings/options.ts';
import type { Command } from '../terminal/command.ts';
import { painter, printable, printJson } from '../terminal/terminal.ts';

const skip = names(`skip these checks: ${checkNames.join(', ')}`);
/** What it does with this flag is in src/cli/either.ts. */
export const client = flag(
  'examine this command line instead: project file, profile, address, TLS, clock, credential; with --url, --vault and --profile',
);
const options = {
  ...serveOptions,
  client,
  skip: {
    ...skip,
    value: 'CHECK[,CHECK]',
    parse: (given: string) => {
      const list = skip.parse(given);
      if (!list.every(name => checkNames.includes(name)))
        throw new Error(`must be one or more of: ${checkNames.join(', ')}`);
      return list;
    },
  },
  json: flag('print one JSON object'),
};

const verdicts = ['ok', 'warning', 'failed'] as const;
const colours = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

export const command: Command = {
  usage: 'doctor [flags]',
  summary: 'examine an installation: versions, files, clock, disk, TLS, keys, backups, logs',
  options,
  about:
    'Examines everything that the service needs, whether it runs or not, and changes nothing. Use the same flags and environment as for serve. With --client, examines the way from this command line to a service instead.',
  more: `Example:
  strongroom doctor --client --url https://vault.example.com

Exit codes:
  0  no faults
  1  there are warnings
  2  something failed, or the command line is not valid
`,
  run: async args => {
    const config = readConfig(options, args, process.env);
    await report(examine(config, config.skip), config.json);
  },
};

export async function report(checks: AsyncIterable<CheckResult>, json: boolean): Promise<void> {
  const results: CheckResult[] = [];
  for await (const result of checks) {
    results.push(result);
    if (!json) process.stdout.write(lineOf(result));
  }
  const worst = worstOf(results);
  if (json) printJson({ status: verdicts[worst], checks: results });
  process.exitCode = worst;
}

const paint = painter(process.env);

function lineOf({ check, outcome, message }: CheckResult): string {
  return `${paint(colours[outcome], outcome.padEnd(8))} ${check.padEnd(12)} ${printable(message)}\n`;
}
