/** Fields that the schemas of vaults, secrets, keys and certificates have in common. */
import { z } from 'zod';
import { recordTimes } from './common.ts';
import { exampleId, id, moment, name, tags } from './text.ts';

export { type ResourceType, resourceTypes } from './names.ts';

export const commonFields = { id, name, tags, ...recordTimes };

export const nullableMoment = moment.nullable().optional();

type Dates = Partial<Record<'activation_date' | 'expiration_date', number | null | undefined>>;

export function datesInOrder({ activation_date: from, expiration_date: to }: Dates): boolean {
  return from === undefined || from === null || to === undefined || to === null || from < to;
}

export const datesOutOfOrder = 'must be later than activation_date';
export const orderError = { error: datesOutOfOrder, path: ['expiration_date'] };

const largestPem = 256 * 1024;

export const pem = z
  .string({ error: 'must be a string' })
  .min(1, { error: 'must not be empty' })
  .max(largestPem, { error: 'must be at most 262144 characters' });

export const passphrase = z
  .string({ error: 'must be a string' })
  .max(1024, { error: 'must be at most 1024 characters' })
  .refine(text => text.isWellFormed(), { error: 'must not contain unpaired surrogates' });

export const exampleTimes = {
  created_at: '2026-11-15T09:30:00.000Z',
  updated_at: '2026-11-15T09:30:00.000Z',
};
export const exampleCommon = { id: exampleId, tags: { team: 'payments' }, ...exampleTimes };
export const exampleVaultId = '0199a3c4-0000-7abc-8def-0123456789ab';
export const exampleKeyId = '0199a3c4-1111-7abc-8def-0123456789ab';
