/**
 * The destinations for a copy of the logs: a file, standard output, or a collector over HTTPS. A send resolves once the
 * entries are durable or acknowledged; otherwise they are sent again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { appendDurably } from '../../base/durable-file.ts';
import { isThisMachine } from '../../base/this-machine.ts';
import { Refusal } from '../../service/settings/report.ts';
import { note } from '../terminal/terminal.ts';

export type Send = (lines: readonly string[]) => Promise<void>;

const patience = 30_000;
const firstPause = 500;
const longestPause = 30_000;

export function sinkTo(to: string, token: string | null): Send {
  if (to === '-') return toOutput;
  return isUrl(to) ? toCollector(to, token) : lines => appendDurably(to, textOf(lines));
}

export const isUrl = (to: string): boolean => /^https?:\/\//i.test(to);

/** Plain HTTP is only allowed on this machine. The operator chooses the collector, so it may be in any network. */
export function checkCollector(to: string): string | null {
  const url = URL.parse(to);
  if (url === null || url.username !== '' || url.password !== '')
    return 'must be an address such as https://logs.example.com/intake, without a password in it';
  return url.protocol === 'https:' || isThisMachine(url.hostname) ? null : 'must begin with https://';
}

const textOf = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('');

function toOutput(lines: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(textOf(lines), error => (error ? reject(error) : resolve()));
  });
}

function toCollector(url: string, token: string | null): Send {
  const headers = {
    'content-type': 'application/x-ndjson',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  const post = async (body: string): Promise<number> => {
    const signal = AbortSignal.timeout(patience);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal });
    await response.body?.cancel();
    return response.status;
  };
  return async lines => {
    const body = textOf(lines);
    for (let pause = firstPause; ; pause = Math.min(2 * pause, longestPause)) {
      const status = await post(body).catch(() => null);
      if (status !== null && status >= 200 && status < 300) return;
      if (status !== null && !isPassing(status))
        throw new Refusal(`the collector refused the entries with status ${status}: they will be sent again`);
      note(`the collector ${status === null ? 'can’t be reached' : `answered ${status}`}: trying again`);
      await sleep(pause * (0.5 + Math.random() / 2));
    }
  };
}

/** Whether the status may be temporary. */
function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429;
}
