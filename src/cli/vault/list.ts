/** `strongroom list`: prints the names of the secrets in a vault, or of the vaults. */
import { flag } from '../../service/settings/options.ts';
import { adminFor, listed } from '../connection/admin.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { printable, printJson } from '../terminal/terminal.ts';

const options = { ...serviceOptions, vaults: flag('print the names of the vaults instead') };

export const command = commandOf({
  usage: 'list [flags]',
  summary: 'print the names of the secrets in a vault',
  options,
  about: 'Prints the names of the active secrets in a vault, never a value.',
  run: async values => {
    const settings = settingsFor(values, process.env);
    const found = values.vaults ? await vaultsOf(settings) : await vaultOf(settings).names();
    const sorted = [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
    if (values.json) printJson(sorted);
    else process.stdout.write(sorted.map(({ name }) => `${printable(name)}\n`).join(''));
  },
});

function vaultsOf(settings: Settings): Promise<{ id: string; name: string }[]> {
  return listed(adminFor(settings).listVaults);
}
