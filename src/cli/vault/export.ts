/** `strongroom export`: prints the secrets of a vault in a format that another program reads. */
import { choice, type Environment, names, text } from '../../service/settings/options.ts';
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
  ...unsafeNames,
  ...outOption,
};

export const command = commandOf({
  usage: 'export [flags]',
  summary: 'print the secrets of a vault in another program’s format',
  options,
  about:
    'Prints the secrets of a vault. A value that the format can’t express is refused by name, and nothing is printed.',
  run: async values => {
    const settings = settingsFor(values, process.env);
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
