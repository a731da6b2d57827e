/** The reasons for which an operation is refused. All failed decryptions are refused with the same one. */
import { type Failure, invalid } from '../../contract/errors.ts';

export const algorithmMismatch = (): Failure => invalid('alg', 'does not match the key');
export const notDecrypted = (): Failure => invalid('value', 'can’t be decrypted with this key');
