/**
 * `run --via` makes a run of its own: its access key is what the program gets, and it ends when the program does. An
 * access key that can't start a run, because it is restricted by its holder or belongs to one already, is restricted
 * further instead, unless something was asked for that only a run can do.
 */
import { longestPurpose } from '../../contract/run-bounds.ts';
import type { Budgets, RunRequest, StartedRun } from '../../contract/runs.ts';
import { Refusal } from '../../service/settings/report.ts';
import { Away, ask, jsonOf, refusalOf } from '../connection/remote.ts';
import type { Settings } from '../connection/settings.ts';
import { note, printable } from '../terminal/terminal.ts';
import { lifetimeIn, type Via } from './via.ts';

export interface RunWishes {
  readonly via: readonly Via[];
  readonly 'via-for': string | null;
  readonly purpose: string | null;
  readonly 'max-uses': number | null;
  readonly 'max-writes': number | null;
  readonly 'max-bytes': number | null;
}

export interface OwnRun {
  readonly token: string;
  /** Reports a failure and doesn't throw it: the run ends by itself later. */
  end(): Promise<void>;
}

const path = '/api/v1/vaults/self/runs';

/** Null if there is nothing to make a run for, or the access key can't start one. */
export async function startRun(
  { url, accessKey }: Pick<Settings, 'url' | 'accessKey'>,
  wishes: RunWishes,
  program: readonly string[],
): Promise<OwnRun | null> {
  if (wishes.via.length === 0 || accessKey === null) return null;
  const body = requestFor(wishes, program);
  const answer = await ask(url, { method: 'POST', path, key: accessKey, body });
  if (answer.status !== 200) {
    const { message } = jsonOf(url, answer) as { readonly message: string };
    // The second is an earlier version of the service.
    const cant = answer.status === 403 || (answer.status === 404 && message === 'Resource not found');
    if (cant && wishes.purpose === null && body.budgets === undefined) return null;
    throw answer.status === 401 ? refusalOf(url, answer) : new Refusal(printable(message));
  }
  const { run, access_key: own } = jsonOf(url, answer) as StartedRun;
  return { token: own.token, end: () => endRun(url, run.id, own.token) };
}

async function endRun(url: string, id: string, key: string): Promise<void> {
  try {
    const { status } = await ask(url, { method: 'POST', path: `${path}/${id}/end`, key });
    // It was ended, or has expired.
    if (status !== 200 && status !== 401) note(`the run ${id} could not be ended: it ends by itself`);
  } catch (error) {
    if (!(error instanceof Away)) throw error;
    note(`the run ${id} could not be ended, because the service can’t be reached: it ends by itself`);
  }
}

function requestFor(wishes: RunWishes, program: readonly string[]): RunRequest {
  const limits = {
    uses: wishes['max-uses'] ?? undefined,
    writes: wishes['max-writes'] ?? undefined,
    bytes: wishes['max-bytes'] ?? undefined,
  } satisfies Budgets;
  const isLimited = Object.values(limits).some(limit => limit !== undefined);
  return {
    purpose: purposeOf(wishes.purpose ?? program.join(' ')),
    rules: [...new Set(wishes.via.map(({ rule }) => rule))],
    ends_in: lifetimeIn(wishes['via-for']),
    ...(isLimited ? { budgets: limits } : {}),
  };
}

/** In one line that can be shown. */
function purposeOf(text: string): string {
  return [...printable(text.replace(/\s+/g, ' ').trim())].slice(0, longestPurpose).join('').trim();
}
