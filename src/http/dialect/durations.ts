/** Durations as Go and Vault write them: seconds as a number, or `1h30m`, `20m`, `1200s`, `7d`. */
import { z } from 'zod';
import { invalid } from '../../contract/errors.ts';

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

export const duration = z.union([z.string().max(32), z.number()]).nullish();

/** Null for no duration, which Vault's own command writes as `0s`. */
export function secondsIn(field: string, given: string | number | null | undefined): number | null {
  const text = String(given ?? '');
  const parts = [...text.matchAll(/(\d{1,9})([smhd])/g)];
  const seconds = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * units[unit!]!, 0);
  const isNumber = /^\d{1,9}$/.test(text);
  if (!isNumber && parts.map(([part]) => part).join('') !== text)
    throw invalid(field, 'must be a duration such as 3600, 20m or 1h30m');
  return (isNumber ? Number(text) : seconds) || null;
}
