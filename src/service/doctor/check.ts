/**
 * The results of an examination, one line for each check: whether it passed, and what to do if it did not. A check that
 * can't run because another one failed is a warning. No check stops the others, and none changes anything.
 */
import { counted, messageOf } from '../settings/report.ts';

type CheckOutcome = 'ok' | 'warning' | 'failed';

export interface Found {
  readonly outcome: CheckOutcome;
  /** One line, with the remedy if something is wrong. */
  readonly message: string;
}

export interface CheckResult extends Found {
  readonly check: string;
}

export type Check = () => Promise<Found>;

export const ok = (message: string): Found => ({ outcome: 'ok', message });
export const warning = (message: string): Found => ({ outcome: 'warning', message });
export const failed = (message: string): Found => ({ outcome: 'failed', message });

/** Something that a check needs is unavailable; another check reports why. */
export class NotChecked extends Error {}

export async function resultOf(check: string, run: Check): Promise<CheckResult> {
  try {
    return { check, ...(await run()) };
  } catch (error) {
    if (error instanceof NotChecked) return { check, ...warning(`not checked: ${error.message}`) };
    return { check, ...failed(await messageOf(error)) };
  }
}

const severity: readonly CheckOutcome[] = ['ok', 'warning', 'failed'];

/** The worst outcome, which is also the exit code, as monitoring programs expect it. */
export function worstOf(results: readonly Found[]): 0 | 1 | 2 {
  return Math.max(0, ...results.map(({ outcome }) => severity.indexOf(outcome))) as 0 | 1 | 2;
}

/** A duration in words, such as `3 days`. */
export function lasting(milliseconds: number): string {
  const units = Object.entries({ day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1_000 });
  const [name, size] = units.find(([, length]) => milliseconds >= 2 * length) ?? units.at(-1)!;
  return counted(Math.round(milliseconds / size), name);
}

export function sized(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}
