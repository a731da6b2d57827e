/**
 * The shares that different people give to a sealed service, one by one, until those of one slot are complete. Each is
 * checked by itself first, so only shares of this data are kept: at most as many as exist. They are wiped once they have
 * been used, and an hour after the last one was given.
 */
import { type RootKey, RootKeyError, type RootKeySource, type SlotFacts } from './root-key.ts';
import { checkShare, rootKeyFromShares, shamirProvider, shamirSettingsOf } from './shamir.ts';
import { type Share, ShareError, shareFrom } from './share-text.ts';

/** How far the slot is that is closest to being complete. Which shares were given is not said. */
export interface SharesProgress {
  readonly given: number;
  readonly needed: number;
}

/** In milliseconds. */
const keptFor = 60 * 60 * 1000;

export class ShareCollector {
  readonly #now: () => number;
  readonly #kept = new Map<string, Map<number, Share>>();
  #slots: readonly SlotFacts[];
  #lastGiven = 0;

  constructor(slots: readonly SlotFacts[], now: () => number) {
    this.#slots = slots;
    this.#now = now;
  }

  /** The slots that shares can open. */
  get slots(): readonly SlotFacts[] {
    return this.#slots.filter(slot => shamirSettingsOf(slot) !== null);
  }

  /** The slots may have changed in the meantime. Shares of slots that are gone are wiped. */
  replaceSlots(slots: readonly SlotFacts[]): void {
    this.#slots = slots;
    for (const id of this.#kept.keys()) if (!this.slots.some(slot => slot.id === id)) this.#forget(id);
  }

  get progress(): SharesProgress {
    this.#forgetOld();
    const all = this.slots.map(slot => ({
      given: this.#kept.get(slot.id)?.size ?? 0,
      needed: shamirSettingsOf(slot)!.threshold,
    }));
    const [closest] = all.sort((a, b) => a.needed - a.given - (b.needed - b.given));
    return closest ?? { given: 0, needed: 0 };
  }

  /** Keeps a share, and returns whether the shares of its slot are complete. Throws `ShareError`. */
  add(text: string): boolean {
    this.#forgetOld();
    const share = shareFrom(text);
    const slot = this.slots.find(({ id }) => id === share.slot);
    if (slot === undefined)
      throw new ShareError(`share ${share.index} is of the slot ${share.slot}, which does not exist here`);
    checkShare(slot, share);
    const kept = this.#kept.get(slot.id) ?? new Map<number, Share>();
    this.#kept.set(slot.id, kept.set(share.index, share));
    this.#lastGiven = this.#now();
    return kept.size >= shamirSettingsOf(slot)!.threshold;
  }

  /** Opens the slot whose shares are complete. */
  source(): RootKeySource {
    const open = async (slot?: SlotFacts): Promise<RootKey> => {
      const kept = this.#kept.get(slot?.id ?? '');
      if (slot === undefined || kept === undefined)
        throw new RootKeyError('too few of its shares were given');
      return rootKeyFromShares(slot, [...kept.values()]);
    };
    return { provider: shamirProvider, exists: async () => false, open, create: open };
  }

  /** Wipes all shares. */
  clear(): void {
    for (const id of [...this.#kept.keys()]) this.#forget(id);
  }

  #forgetOld(): void {
    if (this.#now() - this.#lastGiven > keptFor) this.clear();
  }

  #forget(id: string): void {
    for (const { bytes } of this.#kept.get(id)?.values() ?? []) bytes.fill(0);
    this.#kept.delete(id);
  }
}
