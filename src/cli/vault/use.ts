/**
 * `strongroom use`: lets the service make a call with a secret, and prints the answer, without ever seeing the value.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchanged } from '../../client/exchange.ts';
import type { UseAnswer, Verdict } from '../../contract/uses.ts';
import { flag } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { callIn, callOptions, printVerdict } from '../connection/call-options.ts';
import { ask, jsonOf, refusalOf } from '../connection/remote.ts';
import { isId } from '../connection/secret.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { logIn } from '../connection/workload.ts';
import { commandOf } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  ...callOptions,
  wait: flag('wait until a person has approved or refused the call'),
  'dry-run': flag('check whether the call would be allowed; nothing is sent'),
};

/** In milliseconds: the longest that a rule allows for a call, and some more. */
const patience = 45_000;
const pause = 3_000;

export const command = commandOf({
  usage: 'use SECRET URL [flags]',
  summary: 'call an API with a secret you never see',
  options,
  completes: 'secrets',
  about:
    'The service makes a call with a secret, if a use rule allows it. Prints the body of the response to standard output, and\nits status and headers to standard error. The exit code is 1 if there was no response, or its status is 400 or higher.',
  upTo: 2,
  run: async (values, secret, [url]) => {
    const call = { secret, ...(await callIn(url, values)) };
    const settings = settingsFor(values, process.env);
    const send = senderTo(settings, await accessKeyIn(settings));
    if (values['dry-run']) {
      const verdict = await send<Verdict>({ ...call, dry_run: true }, false);
      return values.json ? printJson(verdict) : printVerdict(verdict);
    }
    const answer = await send<UseAnswer>(call, values.wait);
    if (values.json) printJson(answer);
    else print(answer);
    if (answer.outcome !== 'answered' || answer.status! >= 400) process.exitCode = 1;
  },
});

async function accessKeyIn({ url, accessKey, workload, vault }: Settings): Promise<string> {
  if (accessKey !== null) return accessKey;
  if (workload !== null) return logIn(url, workload, vault);
  throw new UsageError('STRONGROOM_ACCESS_KEY is required: secrets are used with an access key');
}

interface Waiting {
  readonly message: string;
  readonly approval?: { readonly url: string };
}

function senderTo({ url, vault }: Settings, key: string) {
  const path = `/api/v1/vaults/${vault !== null && isId(vault) ? vault : 'self'}/use`;
  const once = (body: object) => ask(url, { method: 'POST', path, key, body, patience });

  return async <T>(call: object, wait: boolean): Promise<T> => {
    for (let told = ''; ; ) {
      const answer = await once(call);
      const page = pageIn(url, answer);
      if (page === null) return answerIn<T>(url, answer);
      // After ten minutes, the same call gets another approval page.
      if (page !== told) note(`a person has to approve this call: ${printable(page)}`);
      if (!wait) throw new Refusal('make the call again once it is approved');
      told = page;
      await sleep(pause);
    }
  };
}

function answerIn<T>(url: string, answer: Exchanged): T {
  if (answer.status === 200) return jsonOf(url, answer) as T;
  throw answer.status === 403 ? forbidden(url, answer) : refusalOf(url, answer);
}

/** The page where a person can approve the call; null if no approval is pending. */
function pageIn(url: string, answer: Exchanged): string | null {
  if (answer.status !== 403) return null;
  const { message, approval } = jsonOf(url, answer) as Waiting;
  return approval === undefined || /refused/.test(message) ? null : approval.url;
}

/** The service's own message, which never repeats input. */
function forbidden(url: string, answer: Exchanged): Refusal {
  return new Refusal(printable((jsonOf(url, answer) as Waiting).message));
}

function print({ outcome, reason, status, headers, body, body_base64, stored }: UseAnswer): void {
  if (outcome !== 'answered') note(`${outcome}: ${printable(reason ?? '')}`);
  if (status !== null) note(`status ${status}`);
  for (const [name, value] of Object.entries(headers)) note(printable(`${name}: ${value}`));
  if (stored !== null) note(`version ${stored.version} of the secret ${stored.secret_id} is stored`);
  if (body_base64 !== null) process.stdout.write(Buffer.from(body_base64, 'base64'));
  else if (body !== null) process.stdout.write(process.stdout.isTTY ? harmless(body) : body);
}

/** Another service's text must not control the terminal. */
function harmless(body: string): string {
  return body
    .split(/(\r?\n|\t)/)
    .map((part, at) => (at % 2 === 0 ? printable(part) : part))
    .join('');
}
