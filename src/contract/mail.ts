/** What a person is told by mail. */
import { z } from 'zod';
import { mailTimes } from './names.ts';
import { oneOf } from './text.ts';

const signInTimes = ['off', 'immediately'] as const;

export const mailChoicesBody = z
  .strictObject({
    expiry: oneOf(mailTimes).optional(),
    approvals: oneOf(mailTimes).optional(),
    sign_in: oneOf(signInTimes).optional(),
  })
  .meta({ id: 'MailChoicesUpdate', example: { expiry: 'daily' } });
export type MailChoicesUpdate = z.output<typeof mailChoicesBody>;

export const mailChoices = z
  .object({
    enabled: z.boolean().describe('False if the service sends no mail.'),
    expiry: z.enum(mailTimes).describe('When something that you may change expires soon, or has expired.'),
    approvals: z.enum(mailTimes).describe('When a call, a write or a request for a role waits for you.'),
    sign_in: z.enum(signInTimes).describe('When someone signs in as you from a network that is new.'),
  })
  .meta({
    id: 'MailChoices',
    example: { enabled: true, expiry: 'daily', approvals: 'immediately', sign_in: 'immediately' },
  });
export type MailChoices = z.output<typeof mailChoices>;
