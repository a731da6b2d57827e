/**
 * The slots of the root key: any one of them opens the keyring. Each change is one row and one audit entry in one unit,
 * so at every moment either the slots before it or those after it open the data, and at least one does. Data with a
 * single root key gets slots with the first addition, and the root key that it had becomes the first one.
 *
 * The last slot can't be removed. The last one that needs no network is removed only if the operator says so twice.
 */
import type { Keyring } from '../../keyring/keyring.ts';
import {
  needsNetwork,
  RootKeyError,
  type SlotFacts,
  type SlotMaterial,
} from '../../keyring/root-key/root-key.ts';
import { parentMark, Unsealable } from '../../keyring/sealing/envelope.ts';
import { type HeldSlot, mostSlots, newSlot, newSlotId } from '../../keyring/slots/slot.ts';
import { factsOf, type KeyringWrapper, onlySlotId, type SlotTrial } from '../../keyring/stored-keyring.ts';
import type { HeldRow } from '../../store/records/keyring.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import { storedKeyring } from '../kernel/keyring-sync.ts';
import type { Parts } from '../kernel/parts.ts';
import { keyringChangesWith, type Operator } from './keyring-changes.ts';

/** Called with the id of the slot, and again if another change came first. */
export type MakeSlot = (id: string) => Promise<SlotMaterial>;

export interface SlotList {
  readonly slots: readonly SlotFacts[];
  /** The id of the slot that this process opened. */
  readonly opened: string;
}

export interface Drill {
  readonly trials: readonly SlotTrial[];
  /** The vaults whose keys the keyring opened, and those whose keys it did not. */
  readonly vaults: { readonly opened: number; readonly damaged: number };
}

const batch = 50;
/** Versions are counted from 1, so every row is under another one. */
const noTerm = 0;

export function rootKeySlotsWith(parts: Parts & { readonly wrapper: KeyringWrapper }) {
  const { store, keyring, wrapper, now } = parts;
  const { load, tell } = keyringChangesWith(parts);

  /** All slots, with the only root key as one if there are none. */
  async function heldNow() {
    const { stored, ring } = await load();
    const slots = ring.slots.length > 0 ? ring.slots : [await wrapper.slotOfOnlyKey(now())];
    return { stored, ring, slots };
  }

  async function replaceSlots(
    operator: Operator,
    verb: 'keyring.slot_added' | 'keyring.slot_removed' | 'keyring.root_key_changed',
    details: object,
    { stored, ring }: Awaited<ReturnType<typeof load>>,
    slots: readonly HeldSlot[],
  ): Promise<void> {
    const after = await wrapper.wrap(ring.withSlots(slots));
    await tell(operator, verb, details, [store.keyring.replace(stored, after)]);
  }

  /** Tries each slot as the next start would. What it opens must be this keyring. */
  async function test(): Promise<readonly SlotTrial[]> {
    const trials = await wrapper.tryEach(await storedKeyring(store));
    return trials.map(trial =>
      trial.keyring === null || trial.keyring.answerTo(challenge) === keyring.answerTo(challenge)
        ? trial
        : { ...trial, result: 'fails', reason: 'it opens another keyring', keyring: null },
    );
  }

  async function openVaults(ring: Keyring): Promise<Drill['vaults']> {
    const vaults = { opened: 0, damaged: 0 };
    for (let after: string | undefined; ; ) {
      const rows = await store.keyring.behind('vault', parentMark(noTerm), after, batch);
      for (const row of rows) vaults[await openVault(ring, row)]++;
      if (rows.length < batch) return vaults;
      after = rows.at(-1)!.id;
    }
  }

  /** A vault that was removed in the meantime counts as opened. */
  async function openVault(ring: Keyring, { organization_id: organization, id }: HeldRow) {
    const row = await store.resources.byId(organization, id);
    const isOpen =
      row === undefined || opens(() => ring.openVault({ organization, vault: id }, row.vault_key!));
    return isOpen ? 'opened' : 'damaged';
  }

  return {
    async list(): Promise<SlotList> {
      const { stored, ring } = await load();
      const only = { id: onlySlotId, provider: factsOf(stored).provider, created: null, settings: {} };
      const slots = ring.slots.length > 0 ? ring.slots.map(factsOfSlot) : [only];
      return { slots, opened: wrapper.openedSlot };
    },

    add: (operator: Operator, make: MakeSlot): Promise<SlotFacts> =>
      retryingStale(async () => {
        const { stored, ring, slots } = await heldNow();
        if (slots.length >= mostSlots) throw new RootKeyError(`there can be at most ${mostSlots} slots`);
        const id = newSlotId(slots);
        const slot = await newSlot(id, await make(id), now());
        const details = { slot: id, provider: slot.provider };
        await replaceSlots(operator, 'keyring.slot_added', details, { stored, ring }, [...slots, slot]);
        return factsOfSlot(slot);
      }),

    /** `isConfirmed`: the operator has named the slot twice. */
    remove: (operator: Operator, id: string, isConfirmed: boolean): Promise<void> =>
      retryingStale(async () => {
        const { stored, ring } = await load();
        const slot = ring.slots.find(one => one.id === id);
        if (slot === undefined && !(ring.slots.length === 0 && id === onlySlotId))
          throw new RootKeyError('there is no such slot: see strongroom root-key list');
        const left = ring.slots.filter(one => one !== slot);
        if (slot === undefined || left.length === 0)
          throw new RootKeyError('this is the last slot: without it, nothing would open the data');
        if (left.every(({ provider }) => needsNetwork(provider)) && !isConfirmed)
          throw new RootKeyError(
            `every other slot needs a network, so the data could not be opened while it is down: to remove this one all the same, repeat its id with --confirm ${id}`,
          );
        const details = { slot: id, provider: slot.provider };
        await replaceSlots(operator, 'keyring.slot_removed', details, { stored, ring }, left);
      }),

    /** Replaces the slot that opened the data by another one. */
    replaceOpened: (operator: Operator, make: MakeSlot): Promise<SlotFacts> =>
      retryingStale(async () => {
        const { stored, ring, slots } = await heldNow();
        const replaced = wrapper.openedSlot;
        const id = newSlotId(slots);
        const slot = await newSlot(id, await make(id), now());
        const kept = slots.map(one => (one.id === replaced ? slot : one));
        const details = { provider: slot.provider, slot: id, replaced };
        await replaceSlots(operator, 'keyring.root_key_changed', details, { stored, ring }, kept);
        return factsOfSlot(slot);
      }),

    /** Whether the root key has slots. */
    hasSlots: async (): Promise<boolean> => (await load()).ring.slots.length > 0,

    test,

    /** Tries each slot, opens every vault’s key with the keyring that was found, and records the outcome. */
    async drill(operator: Operator): Promise<Drill> {
      const trials = await test();
      const found = trials.find(trial => trial.keyring !== null)?.keyring ?? null;
      const vaults = found === null ? { opened: 0, damaged: 0 } : await openVaults(found);
      const idsOf = (opens: boolean) =>
        trials.filter(({ result }) => (result === 'opens') === opens).map(({ slot }) => slot.id);
      const details = { opened: idsOf(true), not_opened: idsOf(false), vaults };
      await tell(operator, 'keyring.slots_tested', details, []);
      return { trials, vaults };
    },
  };
}

const challenge = 'root-key slots';

function opens(open: () => unknown): boolean {
  try {
    open();
    return true;
  } catch (error) {
    if (error instanceof Unsealable) return false;
    throw error;
  }
}

function factsOfSlot({ id, provider, created, settings }: HeldSlot): SlotFacts {
  return { id, provider, created, settings };
}
