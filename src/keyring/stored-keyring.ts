/**
 * The keyring as it is stored, in one of two forms. With a single root key, it is wrapped with that key, as in the first
 * releases. With slots, it is sealed with a random key, and that key for each slot; the slots that count are those that
 * the sealed keyring names, so nothing that was only written into the database is believed.
 *
 * What opened the keyring is kept in memory, so that later states of it are opened without asking again. If it no longer
 * fits, the sources are read again, because an operator may have changed them.
 */
import { randomBytes } from 'node:crypto';
import type { Sealed } from '../base/bytes.ts';
import { Keyring } from './keyring.ts';
import {
  KeyringDamaged,
  NoSlotOpens,
  type RootKey,
  RootKeyError,
  type RootKeySource,
  RootKeyUnreachable,
  type SlotFacts,
  type SlotFailure,
} from './root-key/root-key.ts';
import { Unsealable } from './sealing/envelope.ts';
import { contentRoot, newContentKey } from './slots/content-key.ts';
import {
  type HeldSlot,
  newSlot,
  newSlotId,
  type OpenedSlot,
  openForSlot,
  openSlot,
  sealForSlot,
} from './slots/slot.ts';
import {
  isSlotted,
  parse,
  type SingleForm,
  type SlottedForm,
  type StoredSlot,
  slottedProvider,
} from './slots/stored-form.ts';

/** The only root key of data without slots, where a slot is named. */
export const onlySlotId = 'only';

/** The outcome of trying one slot. */
export interface SlotTrial {
  readonly slot: SlotFacts;
  readonly result: 'opens' | 'fails' | 'unreachable' | 'not configured';
  /** Null if it opens. */
  readonly reason: string | null;
  /** The keyring that it opened. */
  readonly keyring: Keyring | null;
}

export class KeyringWrapper {
  readonly #sources: readonly RootKeySource[];
  #root: RootKey | null = null;
  #slot: OpenedSlot | null = null;

  /** The first source is that of a new root key. */
  constructor(first: RootKeySource, ...others: readonly RootKeySource[]) {
    this.#sources = [first, ...others];
  }

  /** Whether a root key already exists. */
  hasRootKey(): Promise<boolean> {
    return this.#sources[0]!.exists();
  }

  /** The id of the slot that opened the keyring. */
  get openedSlot(): string {
    return this.#slot?.id ?? onlySlotId;
  }

  /** The opened slot, for another thread of this same process; null without slots. */
  handOver(): OpenedSlot | null {
    return this.#slot;
  }

  takeOver(opened: OpenedSlot | null): this {
    this.#slot = opened;
    return this;
  }

  /** Creates the root key if there is none yet, unless the keyring has slots: these need none. */
  async wrap(keyring: Keyring): Promise<Sealed> {
    if (keyring.slots.length > 0) return sealedForSlots(keyring);
    const source = this.#sources[0]!;
    this.#root ??= await source.create();
    const wrapped = Buffer.from(await keyring.wrap(this.#root)).toString('base64');
    return asSealed({ provider: this.#root.provider, term: keyring.term, wrapped });
  }

  async unwrap(bytes: Uint8Array): Promise<Keyring> {
    const stored = parse(bytes);
    return isSlotted(stored) ? this.#openSlots(stored) : this.#openSingle(stored);
  }

  /** Whether this root key is the one that wraps it, or one of those that do. */
  async opens(bytes: Uint8Array): Promise<boolean> {
    return this.unwrap(bytes).then(
      () => true,
      error => {
        if (isAnotherKey(error)) return false;
        throw error;
      },
    );
  }

  /** The root key that opened a keyring without slots, as a slot. */
  slotOfOnlyKey(now: number): Promise<HeldSlot> {
    return newSlot(newSlotId([]), { root: this.#root!, settings: {} }, now);
  }

  /** Tries every slot by itself, as the next start would. */
  async tryEach(bytes: Uint8Array): Promise<readonly SlotTrial[]> {
    const stored = parse(bytes);
    if (!isSlotted(stored)) {
      const source = this.#sources.find(({ provider }) => provider === stored.provider) ?? this.#sources[0]!;
      return [await triedSingle(stored, source)];
    }
    const trials: SlotTrial[] = [];
    for (const slot of stored.slots) trials.push(await this.#try(stored, slot));
    return trials;
  }

  async #openSingle({ provider, wrapped }: SingleForm): Promise<Keyring> {
    const source = this.#sources.find(one => one.provider === provider);
    if (source === undefined) {
      throw new RootKeyError(
        `this data is protected by a ${provider}, but a ${this.#sources[0]!.provider} was given`,
      );
    }
    const keyring = this.#root && (await opened(this.#root, wrapped));
    if (keyring !== null) return keyring;
    const root = await source.open();
    const found = await Keyring.unwrap(root, Buffer.from(wrapped, 'base64'));
    this.#root = root;
    return found;
  }

  async #openSlots(stored: SlottedForm): Promise<Keyring> {
    const known = stored.slots.find(({ id }) => id === this.#slot?.id);
    if (known !== undefined) {
      const keyring = await openedWith(this.#slot!, known, stored).catch(() => null);
      if (keyring !== null) return keyring;
    }
    const failures: SlotFailure[] = [];
    for (const source of this.#sources) {
      for (const slot of stored.slots.filter(({ provider }) => provider === source.provider)) {
        const result = await openedFrom(source, slot, stored);
        if ('keyring' in result) {
          this.#slot = result.opened;
          return result.keyring;
        }
        failures.push(result);
      }
    }
    throw new NoSlotOpens(stored.slots, failures);
  }

  async #try(stored: SlottedForm, slot: StoredSlot): Promise<SlotTrial> {
    const sources = this.#sources.filter(({ provider }) => provider === slot.provider);
    let last = notConfigured(slot);
    for (const source of sources) {
      const result = await openedFrom(source, slot, stored);
      if ('keyring' in result) return opensWith(slot, result.keyring);
      last = failed(result);
    }
    return last;
  }
}

const notConfigured = (slot: SlotFacts): SlotTrial => ({
  slot,
  result: 'not configured',
  reason: 'not configured here',
  keyring: null,
});

const opensWith = (slot: SlotFacts, keyring: Keyring): SlotTrial => ({
  slot,
  result: 'opens',
  reason: null,
  keyring,
});

const failed = ({ slot, reason, isUnreachable }: SlotFailure): SlotTrial => ({
  slot,
  result: isUnreachable ? 'unreachable' : 'fails',
  reason,
  keyring: null,
});

async function triedSingle({ provider, wrapped }: SingleForm, source: RootKeySource): Promise<SlotTrial> {
  const slot: SlotFacts = { id: onlySlotId, provider, created: null, settings: {} };
  if (source.provider !== provider) return notConfigured(slot);
  try {
    return opensWith(slot, await Keyring.unwrap(await source.open(), Buffer.from(wrapped, 'base64')));
  } catch (error) {
    return failed({ slot, reason: reasonOf(error), isUnreachable: false });
  }
}

type SlotResult = { readonly keyring: Keyring; readonly opened: OpenedSlot } | SlotFailure;

async function openedFrom(source: RootKeySource, slot: StoredSlot, stored: SlottedForm): Promise<SlotResult> {
  try {
    const found = await openSlot(await source.open(slot), slot);
    return { keyring: await openedWith(found, slot, stored), opened: found };
  } catch (error) {
    return { slot, reason: reasonOf(error), isUnreachable: error instanceof RootKeyUnreachable };
  }
}

/** One damaged or unusable slot must not stop the others. Errors that are not about root keys end everything. */
function reasonOf(error: unknown): string {
  if (error instanceof RootKeyError) return error.message;
  if (error instanceof Unsealable) return new KeyringDamaged().message;
  throw error;
}

async function openedWith(opened: OpenedSlot, slot: StoredSlot, stored: SlottedForm): Promise<Keyring> {
  const root = contentRoot(openForSlot(opened, slot.key));
  const keyring = await Keyring.unwrap(root, Buffer.from(stored.keyring, 'base64'));
  const isNamed = keyring.slots.some(
    ({ id, recipient }) => id === opened.id && recipient === opened.recipient,
  );
  if (!isNamed) throw new KeyringDamaged();
  return keyring;
}

async function sealedForSlots(keyring: Keyring): Promise<Sealed> {
  const key = newContentKey(randomBytes);
  const sealed = Buffer.from(await keyring.wrap(contentRoot(Buffer.from(key)))).toString('base64');
  const slots = keyring.slots.map(held => {
    const { secret, ...slot } = held;
    return { ...slot, key: sealForSlot(held, key) };
  });
  key.fill(0);
  return asSealed({ provider: slottedProvider, term: keyring.term, wrapped: '', keyring: sealed, slots });
}

function asSealed(form: SingleForm | SlottedForm): Sealed {
  return Buffer.from(JSON.stringify(form), 'utf8') as Uint8Array as Sealed;
}

async function opened(root: RootKey, wrapped: string): Promise<Keyring | null> {
  try {
    return await Keyring.unwrap(root, Buffer.from(wrapped, 'base64'));
  } catch (error) {
    if (isAnotherKey(error)) return null;
    throw error;
  }
}

/** A damaged keyring is not the root key's fault, so the source is not read again. */
function isAnotherKey(error: unknown): boolean {
  return error instanceof RootKeyError && !(error instanceof KeyringDamaged);
}

/** The unencrypted facts about a stored keyring. Only unwrapping proves them. */
export function factsOf(bytes: Uint8Array): { readonly provider: string; readonly term?: number } {
  const stored = parse(bytes);
  const { term } = stored;
  const provider = isSlotted(stored)
    ? [...new Set(stored.slots.map(slot => slot.provider))].join(', ')
    : stored.provider;
  return { provider, ...(term === undefined ? {} : { term }) };
}

/** The slots that a stored keyring has, as far as the row says; none if it has a single root key. */
export function slotFactsOf(bytes: Uint8Array): readonly SlotFacts[] {
  const stored = parse(bytes);
  return isSlotted(stored) ? stored.slots : [];
}
