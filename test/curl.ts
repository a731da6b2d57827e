/**
 * The few of curl's flags that the guides use, for machines that have no curl: -s, -S, -f, -X, -H and -d. Which statuses
 * came back is added to the file that CURL_STATUSES names.
 */
import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    fail: { type: 'boolean', short: 'f' },
    'show-error': { type: 'boolean', short: 'S' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd' },
  },
});
const headers = values.header.map(line => line.split(/: (.*)/s).slice(0, 2) as [string, string]);
const method = values.request ?? (values.data === undefined ? 'GET' : 'POST');
const answer = await fetch(positionals[0]!, { method, headers, body: values.data ?? null });
const { CURL_STATUSES } = process.env;
if (CURL_STATUSES !== undefined) appendFileSync(CURL_STATUSES, `${answer.status}\n`);
process.stdout.write(await answer.text());
