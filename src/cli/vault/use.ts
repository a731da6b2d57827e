/**
 * `strongroom use`: has the service make a call with a secret, and prints what comes back. The value is not part of it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchanged } from '../../client/exchange.ts';
import type { UseAnswer, Verdict } from '../../contract/uses.ts';
import { flag, readCommand } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { callIn, callOptions, printVerdict } from '../connection/call-options.ts';
import { ask, jsonOf, refusalOf } from '../connection/remote.ts';
import { isId } from '../connection/secret.ts';
import { type Settings, serviceOptions, settingsFor } from '../connection/settings.ts';
import { logIn } from '../connection/workload.ts';
import type { Command } from '../terminal/command.ts';
import { note, printable, printJson } from '../terminal/terminal.ts';

const options = {
  ...serviceOptions,
  ...callOptions,
  wait: flag('wait until a person has approved the call, or refused it'),
  'dry-run': flag('say whether the call would be allowed, and why not; nothing is sent'),
};

/** As long as a rule lets a call take, and a little. */
const patience = 45_000;
const pause = 3_000;

export const command: Command = {
  usage: 'use SECRET URL [flags]',
  summary: 'have the service make a call with a secret, without seeing it',
  options,
  completes: 'secrets',
  about:
    'Has the service make a call with a secret that has a use rule for it. Prints the body of the answer to standard output,\nits status and headers to standard error. The exit code is 1 if there was no answer, or one with a status from 400 up.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, 2);
    const [secret, url] = positionals;
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
};

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
      // After ten minutes the same call waits on another page.
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

/** Where a person can approve the call; null where nobody is asked, or they refused. */
function pageIn(url: string, answer: Exchanged): string | null {
  if (answer.status !== 403) return null;
  const { message, approval } = jsonOf(url, answer) as Waiting;
  return approval === undefined || /refused/.test(message) ? null : approval.url;
}

/** The service's own words, which never repeat what was sent. */
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

/** Another service's text must not command the terminal. */
function harmless(body: string): string {
  return body
    .split(/(\r?\n|\t)/)
    .map((part, at) => (at % 2 === 0 ? printable(part) : part))
    .join('');
}
