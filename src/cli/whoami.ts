/** `strongroom whoami`: which service, which key, whose it is, and what it opens. */
import { readOptions } from '../options.ts';
import type { Command } from './command.ts';
import { look } from './login.ts';
import { kindOf } from './profiles.ts';
import { serviceOptions, settingsFor } from './settings.ts';
import { printJson, table } from './terminal.ts';
import { vaultOf } from './vaults.ts';
import { logIn } from './workload.ts';

const usage = 'whoami [flags]';
const summary = 'print which service and key are used, and check them';

export const command: Command = {
  usage,
  summary,
  options: serviceOptions,
  about:
    'Prints which service and key are used, whose it is and until when. Fails if the key is not accepted.',
  run: async args => {
    const values = readOptions(serviceOptions, args, process.env);
    const settings = settingsFor(values, process.env);
    // Says which key is missing where there is none.
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
};
