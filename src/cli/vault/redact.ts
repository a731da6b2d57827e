/** `strongroom redact`: copies standard input, and replaces the values of a vault. */
import { pipeline } from 'node:stream/promises';
import { ourSecrets } from '../connection/own-credentials.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { vaultOf, wholeVault } from '../connection/vaults.ts';
import { commandOf } from '../terminal/command.ts';
import { maskFor } from '../terminal/mask.ts';

const { json: _, ...options } = serviceOptions;

export const command = commandOf({
  usage: 'redact [flags]',
  summary: 'replace the values of a vault in standard input',
  options,
  about:
    'Copies standard input to standard output. Every value of the vault is replaced by [secret NAME]; every other byte\nstays as it is.',
  run: async values => {
    const settings = settingsFor(values, process.env);
    const { secrets } = await wholeVault(vaultOf(settings));
    const masks = maskFor([...secrets, ...ourSecrets(settings, process.env)]);
    await pipeline(process.stdin, masks, process.stdout, { end: false }).catch(error => {
      // Most pipes end because the reader closes them.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    });
  },
});
