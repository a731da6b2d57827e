/** The current one-time code of a secret whose value is an `otpauth://totp/` address. The address itself is not shown. */
import { invalid } from '../../contract/errors.ts';
import {
  AddressError,
  type CurrentCode,
  currentCode,
  readCodeAddress,
} from '../../material/one-time-code.ts';

/** Fails with the field that asked for a code, and why there is none. */
export function codeOf(value: string, now: number, field: 'as' | 'value'): CurrentCode {
  try {
    return currentCode(readCodeAddress(value), now);
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    const problem = field === 'as' ? 'can’t be otp' : 'has no one-time code';
    throw invalid(field, `${problem}: ${error.message}`);
  }
}
