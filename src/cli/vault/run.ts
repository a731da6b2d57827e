/** `strongroom run`: runs a program with the secrets of a vault as its environment. */
import { readOptions } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { settingsFor } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { endAs } from './child.ts';
import { runOptions } from './run-options.ts';
import { startRun } from './run-start.ts';
import { sourceOf, supervise } from './supervision.ts';

const runFlags = ['purpose', 'max-uses', 'max-writes', 'max-bytes'] as const;

export const command: Command = {
  usage: 'run [flags] -- COMMAND [ARGUMENT...]',
  summary: 'run a program with the secrets of a vault in its environment',
  options: runOptions,
  about:
    'Runs COMMAND with the secrets of a vault as environment variables. Exit code, signals and terminal are passed through.\nValues are replaced in output that does not go to a terminal.',
  more: 'Examples:\n  strongroom run -- npm start\n  strongroom run --vault app --vault shared --file TLS_KEY -- ./serve\n  strongroom run --watch --on-change signal:HUP --file TLS_KEY=/run/app/tls.key -- nginx\n',
  run: async args => {
    const end = args.includes('--') ? args.indexOf('--') : args.length;
    const [own, program] = [args.slice(0, end), args.slice(end + 1)];
    if (own.some(arg => /^--env-file(=|$)/.test(arg)))
      throw new UsageError('--env-file is now --variables: Node reads a flag of the old name itself');
    const values = readOptions(runOptions, own, process.env);
    if (program.length === 0)
      throw new UsageError('write the program after --, as in strongroom run -- npm start');
    if (values.mask && values['no-mask']) throw new UsageError('--mask and --no-mask can’t be combined');
    if (values['on-change'] !== null && !values.watch) throw new UsageError('--on-change requires --watch');
    const settings = settingsFor({ ...values, vault: values.vault[0] ?? null }, process.env);
    if (values.strict && values.only.length === 0 && (settings.project?.names ?? []).length === 0)
      throw new UsageError('--strict requires the expected names: --only, or names in the project file');
    if (values.via.length === 0 && runFlags.some(name => values[name] !== null))
      throw new UsageError(`--${runFlags.find(name => values[name] !== null)} requires --via`);
    const started = await startRun(settings, values, program);
    const given = { ...values, 'run-key': started?.token ?? null };
    const supervised = async () =>
      supervise(program, given, sourceOf(settings, given, process.env), process.env);
    endAs(await supervised().finally(() => started?.end()));
  },
};
