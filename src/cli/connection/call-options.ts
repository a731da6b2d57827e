/** The flags that describe a call, and the output of a rule check, for `use` and `use-rules check`. */
import type { UseVerdict } from '../../client/api.ts';
import { useMethods } from '../../contract/use-names.ts';
import { choice, names, type readCommand, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { bytesOf, bytesOfInput } from '../terminal/input.ts';
import { note, printable } from '../terminal/terminal.ts';

const header = {
  ...names('a header of the call; can be repeated'),
  value: 'NAME:VALUE',
  /** Repeated headers are joined by a comma, which is then followed by the next name. */
  parse: (given: string) => given.split(/,(?=[\w-]+:)/),
};

export const callOptions = {
  method: choice('the method of the call (default: GET, or POST with a body)', useMethods),
  header,
  body: text('FILE|-', 'the body of the call, from a file or standard input'),
  rule: text('ID', 'the use rule (default: the first one that allows the call)'),
};
type Values = ReturnType<typeof readCommand<typeof callOptions>>['values'];

export async function callIn(url: string | undefined, values: Values) {
  if (url === undefined) throw new UsageError('the name of a secret and a URL are required');
  const { method, header, body, rule } = values;
  return {
    url,
    method: method ?? (body === null ? 'GET' : 'POST'),
    headers: Object.fromEntries(header.map(pairIn)),
    ...(body === null ? {} : bodyOf(body === '-' ? await bytesOfInput() : bytesOf(body))),
    ...(rule === null ? {} : { rule }),
  };
}

function pairIn(line: string): [string, string] {
  const at = line.indexOf(':');
  if (at <= 0) throw new UsageError('--header must be of the form NAME:VALUE');
  return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

function bodyOf(bytes: Buffer) {
  const text = bytes.toString('utf8');
  const isText = Buffer.from(text, 'utf8').equals(bytes);
  return isText ? { body: text } : { body_base64: bytes.toString('base64') };
}

/** Sets the exit code to 1 if the call would be refused. */
export function printVerdict({ allowed, rule, approval, refusals }: UseVerdict): void {
  if (allowed) {
    const wait = approval ? ', once a person has approved it' : '';
    process.stdout.write(`allowed by the rule ${rule}${wait}\n`);
    return;
  }
  process.exitCode = 1;
  if (refusals.length === 0) note('not allowed: there is no such use rule');
  for (const { name, field, reason } of refusals)
    note(`not allowed by ${printable(name)}: ${field} ${reason}`);
}
