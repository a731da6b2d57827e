/** `strongroom list`: prints the names of the secrets in a vault, or of the vaults. */
import { flag, readOptions } from '../../service/settings/options.ts';
import { adminFor, listed } from '../connection/admin.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import type { Command } from '../terminal/command.ts';
import { printable, printJson } from '../terminal/terminal.ts';

const usage = 'list [flags]';
const summary = 'print the names of the secrets in a vault';
const options = { ...serviceOptions, vaults: flag('print the names of the vaults instead') };

export const command: Command = {
  usage,
  summary,
  options,
  about: 'Prints the names of the active secrets in a vault, never a value.',
  run: async args => {
    const values = readOptions(options, args, process.env);
    const settings = settingsFor(values, process.env);
    const found = values.vaults ? await vaultsOf(settings) : await vaultOf(settings).names();
    const sorted = [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
    if (values.json) printJson(sorted);
    else process.stdout.write(sorted.map(({ name }) => `${printable(name)}\n`).join(''));
  },
};

function vaultsOf(settings: Settings): Promise<{ id: string; name: string }[]> {
  return listed(adminFor(settings).listVaults);
}
