/** All 256 exit codes through `strongroom run`: `npm run campaign:exit-codes`. The tests take those at the edges. */
import { passedOn } from '../exit-codes.ts';
import { startTool } from '../tool.ts';

const codes = Array.from({ length: 256 }, (_, code) => code);
const tool = await startTool({ DATABASE_URL: 'postgres://app@db/prod' });
const results = await passedOn(tool, codes);
const wrong = codes.filter((code, at) => results[at] !== code);
console.log(
  `${codes.length - wrong.length} of ${codes.length} exit codes passed on${wrong.length > 0 ? `; not ${wrong}` : ''}`,
);
if (wrong.length > 0) process.exitCode = 1;
await tool.stop();
