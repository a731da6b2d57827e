/** The service in a process that can be killed, with a clock that its parent moves: a day of waits need not take one. */
import { readConfig, serveOptions } from '../../src/config.ts';
import { serve } from '../../src/serve.ts';

const [offset = '0', ...flags] = process.argv.slice(2);
let ahead = Number(offset);
process.on('message', (milliseconds: number) => {
  ahead = milliseconds;
});
process.on('disconnect', () => process.exit());
const { url } = await serve(readConfig(serveOptions, flags, {}), {
  now: () => Date.now() + ahead,
  report: line => process.stderr.write(`${line}\n`),
});
process.send!(url);
