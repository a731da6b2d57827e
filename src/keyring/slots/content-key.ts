/** The random key that seals a keyring with slots. It is new whenever the keyring is stored, and sealed for each slot. */
import { createSecretKey, randomBytes } from 'node:crypto';
import { KeyringDamaged, type RootKey } from '../root-key/root-key.ts';
import { openDirect, type ParentKey, type Random, sealDirect } from '../sealing/envelope.ts';

const keySize = 32;

export function newContentKey(random: Random): Uint8Array {
  return random(keySize);
}

/** Takes the place of a root key for the keyring. Wipes the bytes. */
export function contentRoot(bytes: Uint8Array): RootKey {
  const parent: ParentKey = { id: 0, key: createSecretKey(bytes) };
  bytes.fill(0);
  return {
    provider: 'slots',
    wrap: async (context, plain) => sealDirect(parent, context, plain, randomBytes),
    unwrap: async (context, wrapped) => {
      try {
        return openDirect(parent, context, wrapped);
      } catch (cause) {
        throw new KeyringDamaged(cause);
      }
    },
  };
}
