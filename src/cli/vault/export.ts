/** `strongroom export`: prints the secrets of a vault in a format that another program reads. */
import {
  choice,
  type Environment,
  flag,
  names,
  type readCommand,
  text,
} from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf, wholeVault } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { outOption, printTo } from '../terminal/terminal.ts';
import { chosen } from './environment.ts';
import { formats, githubMasks, write } from './export-formats.ts';
import { unsafeNames } from './unsafe-names.ts';

const { json: _, ...place } = serviceOptions;
const options = {
  ...place,
  format: choice('the format (default: dotenv)', formats),
  only: names('export only these secrets'),
  prefix: text('P', 'put P before every name'),
  dialect: choice('the quoting rules of a dotenv file (default: node)', ['node', 'python'] as const),
  name: text('NAME', 'the name of the Kubernetes Secret (default: that of the vault)'),
  namespace: text('NAME', 'the namespace of the Kubernetes Secret'),
  all: flag('everything in all vaults that the API key may reveal, as one encrypted file'),
  recipient: { ...names('with --all: the age public keys that can open the file'), value: 'AGE[,AGE]' },
  ...unsafeNames,
  ...outOption,
};
type Values = ReturnType<typeof readCommand<typeof options>>['values'];

export const command = commandOf({
  usage: 'export [flags]',
  summary: 'print the secrets of a vault in another program’s format',
  options,
  about:
    'Prints the secrets of a vault. A value that the format can’t express is refused by name, and nothing is printed.\nWith --all, writes the secrets, keys and certificates of all vaults as JSON into an age file (age-encryption.org), which\nany age program opens without Strongroom.',
  more: 'Examples:\n  strongroom export --format dotenv --out app.env\n  strongroom export --all --recipient age1… --out everything.age\n',
  run: async values => {
    const settings = settingsFor(values, process.env);
    if (values.all) {
      refuseFormat(values);
      return (await import('./export-all.ts')).exportAll(settings, values.recipient, values.out);
    }
    if (values.recipient.length > 0) throw new UsageError('--recipient requires --all');
    const snapshot = await wholeVault(vaultOf(settings));
    const pairs = chosen(snapshot, values, settings.project).sort(([a], [b]) => (a < b ? -1 : 1));
    const style = {
      dialect: values.dialect ?? 'node',
      name: values.name ?? labelOf(snapshot.vault.name),
      namespace: values.namespace,
    };
    const written = write(values.format ?? 'dotenv', pairs, style);
    if (values.format === 'github' && isRunner(process.env))
      process.stderr.write(githubMasks(pairs.map(([, value]) => value)));
    await printTo(values.out, written);
  },
});

/** What is exported as a whole has one form. */
function refuseFormat({ format, only, prefix, dialect, name, namespace }: Values): void {
  const given = { format, only: only[0] ?? null, prefix, dialect, name, namespace };
  const [one] = Object.entries(given).find(([, value]) => value !== null) ?? [];
  if (one !== undefined) throw new UsageError(`--${one} can’t be combined with --all`);
}

/** Only a runner understands masks; anywhere else, they would show the values. */
function isRunner({ GITHUB_ACTIONS }: Environment): boolean {
  return GITHUB_ACTIONS === 'true';
}

/** Converts a name to a valid Kubernetes name. */
function labelOf(name: string): string {
  const label = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return label.slice(0, 253) || 'strongroom';
}
