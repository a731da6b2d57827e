/**
 * A root key in another vault: Strongroom's, OpenBao's or HashiCorp Vault's transit engine encrypts and decrypts with a
 * key that never leaves it. The engine may rotate its key at any time, because its ciphertexts name their version.
 *
 * The address of the engine comes from the operator of this service, never from the database: an altered slot can't send
 * the engine's token anywhere else.
 */
import { bound, unbound } from './bound-plaintext.ts';
import { type RootKey, RootKeyError, type RootKeySource } from './root-key.ts';

export const transitProvider = 'transit';

/**
 * Sends a call to the engine, and returns the field of its answer's `data`. Throws `RootKeyUnreachable` if it does not
 * answer, and `RootKeyError` if it refuses.
 */
export type TransitCall = (
  operation: 'encrypt' | 'decrypt',
  sent: Readonly<Record<string, string>>,
  field: string,
) => Promise<string>;

const ciphertextForm = /^vault:v[1-9][0-9]{0,8}:([A-Za-z0-9+/]+={0,2})$/;

/** Only the canonical base64: an engine may read text that was altered or cut off as the same bytes. */
function isCiphertext(text: string): boolean {
  const [, encoded] = ciphertextForm.exec(text) ?? [];
  return encoded !== undefined && Buffer.from(encoded, 'base64').toString('base64') === encoded;
}

export function transit(call: TransitCall): RootKeySource {
  const root: RootKey = {
    provider: transitProvider,
    wrap: async (context, plain) => {
      const bytes = bound(context, plain);
      const plaintext = bytes.toString('base64');
      bytes.fill(0);
      const ciphertext = await call('encrypt', { plaintext }, 'ciphertext');
      if (!isCiphertext(ciphertext)) throw new RootKeyError('the transit engine returned no ciphertext');
      return Buffer.from(ciphertext, 'latin1');
    },
    unwrap: async (context, wrapped) => {
      const ciphertext = Buffer.from(wrapped).toString('latin1');
      // What is stored may have been altered: nothing else is sent.
      if (!isCiphertext(ciphertext))
        throw new RootKeyError('the slot is not as the transit engine wrapped it');
      const plaintext = await call('decrypt', { ciphertext }, 'plaintext');
      return unbound(context, Buffer.from(plaintext, 'base64'));
    },
  };
  const open = async () => root;
  return { provider: transitProvider, exists: async () => false, open, create: open };
}
