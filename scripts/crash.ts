/** The long form of the crash test: `npm run crash`, or `npm run crash -- 1000`. */
import { crashRepeatedly } from '../test/crashes.ts';

const bursts = Number(process.argv[2] ?? 200);
const toll = await crashRepeatedly(bursts, burst => process.stdout.write(`\r${burst + 1} of ${bursts}`));
process.stdout.write(
  `\r${toll.bursts} kills, ${toll.acknowledged} acknowledged writes, ${toll.missing} missing\n`,
);
process.exit(toll.missing === 0 ? 0 : 1);
