/** The service in a process that can be killed, with a clock that its parent moves: a day of waits need not take one. */

import { serve } from '../../src/service/serve.ts';
import { serveOptions } from '../../src/service/settings/command-options.ts';
import { readConfig } from '../../src/service/settings/config.ts';

const [offset = '0', ...flags] = process.argv.slice(2);
const movedClock = new SharedArrayBuffer(16);
const clock = new Float64Array(movedClock);
clock.set([Number(offset), Number.NaN]);
process.on('message', (milliseconds: number) => {
  clock[0] = milliseconds;
});
process.on('disconnect', () => process.exit());
const { url } = await serve(readConfig(serveOptions, flags, {}), {
  movedClock,
  report: line => process.stderr.write(`${line}\n`),
});
process.send!(url);
