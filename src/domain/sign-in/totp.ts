/**
 * One-time codes (RFC 6238: SHA-1, six digits, 30 seconds), and the recovery codes that replace a lost device. A code
 * must be entered exactly as shown, without spaces. A code is never accepted twice, nor after a newer one was
 * accepted.
 */
import { equalBytes } from '../../keyring/keyring.ts';
import { base32, codeAt } from '../../material/one-time-code.ts';

export { base32, codeAt } from '../../material/one-time-code.ts';

const stepLength = 30_000;
/** Clocks differ, so one step in either direction is accepted. */
const leeway = 1;
const digits = 6;
const recoveryShape = /^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/;

export const seedSize = 20;
const recoveryCodes = 10;

export function stepAt(now: number): number {
  return Math.floor(now / stepLength);
}

/** The step of this code, if it may still be used. */
export function stepOf(seed: Uint8Array, code: string, now: number, lastUsed: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const current = stepAt(now);
  let found: number | null = null;
  for (let step = current - leeway; step <= current + leeway; step++) {
    const same = equalBytes(Buffer.from(codeAt(seed, step)), Buffer.from(code));
    if (same && step > lastUsed) found = step;
  }
  return found;
}

/** The URI that an authenticator app reads from a QR code. */
export function codeUri(seed: Uint8Array, email: string): string {
  const label = `Strongroom:${encodeURIComponent(email)}`;
  return `otpauth://totp/${label}?secret=${base32(seed)}&issuer=Strongroom&algorithm=SHA1&digits=${digits}&period=30`;
}

/** 80 random bits each, in four groups of four characters. */
export function makeRecoveryCodes(random: (size: number) => Uint8Array): string[] {
  return Array.from({ length: recoveryCodes }, () =>
    base32(random(10)).toLowerCase().match(/.{4}/g)!.join('-'),
  );
}

export function looksLikeRecoveryCode(code: string): boolean {
  return recoveryShape.test(code);
}
