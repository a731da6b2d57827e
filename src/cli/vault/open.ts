/** `strongroom open`: opens the dashboard of the service. */
import { socketIn } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { placeFor, serviceOptions } from '../connection/settings.ts';
import { browse } from '../terminal/browser.ts';
import { commandOf } from '../terminal/command.ts';
import { printJson } from '../terminal/terminal.ts';

export const command = commandOf({
  usage: 'open [flags]',
  summary: 'open the dashboard',
  options: serviceOptions,
  about: 'Opens the dashboard in a browser, and prints its address.',
  run: async values => {
    const { url } = placeFor(values, process.env);
    if (socketIn(url) !== null)
      throw new UsageError('--url must be a web address: a browser can’t open a Unix socket');
    const address = `${url}/`;
    const opened = browse(address, process.env);
    if (values.json) printJson({ url: address, opened });
    else process.stdout.write(`${address}\n`);
  },
});
