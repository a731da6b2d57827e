/** `strongroom run`: runs a program with the secrets of a vault as its environment. */
import { flag, names, readOptions, text, whole } from '../options.ts';
import { UsageError } from '../report.ts';
import { endAs } from './child.ts';
import type { Command } from './command.ts';
import { serviceOptions, settingsFor } from './settings.ts';
import { sourceOf, supervise } from './supervision.ts';
import { unsafeNames } from './unsafe-names.ts';

const usage = 'run [flags] -- COMMAND [ARGUMENT...]';
const summary = 'run a program with the secrets of a vault in its environment';
const { json: _, ...place } = serviceOptions;

export const runOptions = {
  ...place,
  only: names('pass on only these secrets'),
  prefix: text('P', 'put P before the name of every variable'),
  pristine: flag('pass on nothing of the current environment'),
  preserve: flag('keep the value of a variable that is already set'),
  strict: flag(
    'pass on only declared names (--only, or names of the project file), and fail if one can’t be passed on or would replace a variable that is set',
  ),
  variables: text(
    'FILE',
    'also set the variables in FILE; values of the form sr://vault/NAME are read from the vault',
  ),
  ...unsafeNames,
  mask: flag('replace values in the output even on a terminal'),
  'no-mask': flag('leave the output as it is (default on a terminal)'),
  watch: flag('restart the program when a value changes'),
  'watch-interval': whole('SECONDS', 'how often to look for a change (default: 10)', 10, 1, 86_400),
  offline: flag('if the service is away, use what was read last'),
  'offline-max-age': whole('HOURS', 'how old that may be (default: 24)', 24, 1, 8_760),
  'no-cache': flag('keep nothing for --offline'),
};

export const command: Command = {
  usage,
  summary,
  options: runOptions,
  about:
    'Runs COMMAND with the secrets of a vault as environment variables. Its exit code, signals and terminal are its own.\nValues are replaced in output that does not go to a terminal.',
  run: async args => {
    const end = args.includes('--') ? args.indexOf('--') : args.length;
    const [own, program] = [args.slice(0, end), args.slice(end + 1)];
    if (own.some(arg => /^--env-file(=|$)/.test(arg)))
      throw new UsageError('--env-file is now --variables: Node reads a flag of the old name itself');
    const values = readOptions(runOptions, own, process.env);
    if (program.length === 0)
      throw new UsageError('write the program after --, as in strongroom run -- npm start');
    if (values.mask && values['no-mask']) throw new UsageError('--mask and --no-mask can’t be combined');
    const settings = settingsFor(values, process.env);
    if (values.strict && values.only.length === 0 && (settings.project?.names ?? []).length === 0)
      throw new UsageError('--strict needs the expected names: --only, or names in the project file');
    endAs(await supervise(program, values, sourceOf(settings, values, process.env), process.env));
  },
};

export type RunValues = ReturnType<typeof readOptions<typeof runOptions>>;
