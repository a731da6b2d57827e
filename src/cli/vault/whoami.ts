/** `strongroom whoami`: prints the service and the key in use, its owner, and what it gives access to. */
import { kindOf } from '../connection/profiles.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf } from '../connection/vaults.ts';
import { logIn } from '../connection/workload.ts';
import { commandOf } from '../terminal/command.ts';
import { printJson, table } from '../terminal/terminal.ts';
import { look } from './login.ts';

export const command = commandOf({
  usage: 'whoami [flags]',
  summary: 'print and check the service and the key in use',
  options: serviceOptions,
  about: 'Prints the service and the key in use, its owner and its expiry. Fails if the key is not accepted.',
  run: async values => {
    const settings = settingsFor(values, process.env);
    // Fails with a message about the missing key if there is none.
    vaultOf(settings);
    const { url, profile, source, accessKey, apiKey, workload } = settings;
    const key = accessKey ?? apiKey ?? (await logIn(url, workload!, settings.vault));
    const kind = kindOf(key) === 'api_key' ? 'API key' : 'access key';
    const found = { url, profile, source, key: kind, ...(await look(url, key)) };
    const lines = Object.entries(found).flatMap(([name, value]) =>
      value === null ? [] : [[`${name}:`, value]],
    );
    if (values.json) printJson(found);
    else process.stdout.write(table(lines));
  },
});
