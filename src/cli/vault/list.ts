/** `strongroom list`: prints the names of the secrets in a vault, or of the vaults. */
import { flag, type Option } from '../../service/settings/options.ts';
import { adminFor, listed } from '../connection/admin.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { printable, printJson, printList } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  long: {
    ...flag('also print type, version, age and expiry, of keys and certificates too; requires an API key'),
    short: 'l',
  } as Option<boolean>,
  vaults: flag('print the names of the vaults instead'),
};

export const command = commandOf({
  usage: 'list [flags]',
  summary: 'print the names of the secrets in a vault',
  options,
  about:
    'Prints the names of the active secrets in a vault, never a value. With -l, prints a line for each secret, key and\ncertificate, active or not: name, type, version, when it was updated, and when it expires.',
  more: 'Example:\n  strongroom list -l --vault payments\n',
  run: async values => {
    const settings = settingsFor(values, process.env);
    if (values.long && !values.vaults) return printLong(settings, values.json);
    const found = values.vaults ? await vaultsOf(settings) : await vaultOf(settings).names();
    const sorted = [...found].sort((a, b) => (a.name < b.name ? -1 : 1));
    if (values.json) printJson(sorted);
    else process.stdout.write(sorted.map(({ name }) => `${printable(name)}\n`).join(''));
  },
});

function vaultsOf(settings: Settings): Promise<{ id: string; name: string }[]> {
  return listed(adminFor(settings).listVaults);
}

async function printLong(settings: Settings, json: boolean): Promise<void> {
  const { byName, resourcesOf, resourceTypes } = await import('../connection/resources.ts');
  const { ago, expiryInWords } = await import('../terminal/dates.ts');
  const admin = adminFor(settings);
  const { id } = await admin.vault(settings.vault);
  const all = byName(await resourcesOf(admin, resourceTypes, { vault_id: id }));
  printList(json, all, ({ name, type, version, updated_at, expires_at }) => [
    name,
    type,
    `version ${version}`,
    `updated ${ago(updated_at)}`,
    expiryInWords(expires_at),
  ]);
}
