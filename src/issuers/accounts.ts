/** Names and passwords of issued users: unguessable, and of characters that no service gives a meaning. */
import { randomBytes } from 'node:crypto';

const accountBytes = 20;
const passwordBytes = 24;
const letters = 'abcdefghijklmnopqrstuvwxyz234567';

export function newAccount(random: (bytes: number) => Buffer): string {
  return `sr_${Array.from(random(accountBytes), byte => letters[byte % letters.length]).join('')}`;
}

export function newPassword(): string {
  return randomBytes(passwordBytes).toString('base64url');
}
