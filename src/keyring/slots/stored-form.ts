/**
 * The two forms of a stored keyring, as JSON. The form with slots keeps the fields of the other one: an earlier release
 * that reads it sees a provider that it doesn't know, keeps the keyring that it has in memory as long as the version is
 * the same, and refuses to start.
 */
import { KeyringDamaged } from '../root-key/root-key.ts';
import { mostSlots, type Slot } from './slot.ts';

export interface SingleForm {
  readonly provider: string;
  /** Missing in keyrings stored by the first releases. */
  readonly term?: number;
  readonly wrapped: string;
}

export interface StoredSlot extends Slot {
  /** The key of the sealed keyring, sealed for this slot, in base64. */
  readonly key: string;
}

export interface SlottedForm extends SingleForm {
  readonly keyring: string;
  readonly slots: readonly StoredSlot[];
}

export const slottedProvider = 'set of slots';

export function isSlotted(form: SingleForm | SlottedForm): form is SlottedForm {
  return 'slots' in form;
}

export function parse(bytes: Uint8Array): SingleForm | SlottedForm {
  try {
    const { provider, term, wrapped, keyring, slots } = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (provider === slottedProvider) {
      if (
        typeof keyring === 'string' &&
        Array.isArray(slots) &&
        slots.length <= mostSlots &&
        slots.every(isSlot)
      )
        return { provider, term, wrapped: '', keyring, slots };
    } else if (typeof provider === 'string' && typeof wrapped === 'string')
      return { provider, term, wrapped };
  } catch (cause) {
    throw new KeyringDamaged(cause);
  }
  throw new KeyringDamaged();
}

const texts = ['id', 'provider', 'recipient', 'sealed', 'key'] as const;

function isSlot(slot: StoredSlot | null): boolean {
  if (slot === null || typeof slot !== 'object') return false;
  const hasTexts = texts.every(name => typeof slot[name] === 'string');
  return (
    hasTexts && /^[0-9a-f]{8}$/.test(slot.id) && typeof slot.settings === 'object' && slot.settings !== null
  );
}
