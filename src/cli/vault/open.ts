/** `strongroom open`: opens the dashboard of the service. */
import { readOptions, socketIn } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { placeFor, serviceOptions } from '../connection/settings.ts';
import { browse } from '../terminal/browser.ts';
import type { Command } from '../terminal/command.ts';
import { printJson } from '../terminal/terminal.ts';

const usage = 'open [flags]';
const summary = 'open the dashboard';

export const command: Command = {
  usage,
  summary,
  options: serviceOptions,
  about: 'Opens the dashboard in a browser, and prints its address.',
  run: async args => {
    const values = readOptions(serviceOptions, args, process.env);
    const { url } = placeFor(values, process.env);
    if (socketIn(url) !== null)
      throw new UsageError('--url must be a web address: a browser can’t open a Unix socket');
    const address = `${url}/`;
    const opened = browse(address, process.env);
    if (values.json) printJson({ url: address, opened });
    else process.stdout.write(`${address}\n`);
  },
};
