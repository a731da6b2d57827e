/**
 * A root key wraps only the keyring. A provider may hold it here (a file, a passphrase) or keep it where we never see
 * it (a key service, a token): it only has to wrap and unwrap.
 */
export interface RootKey {
  /** The provider's name, stored with the wrapped keyring and shown to operators. */
  readonly provider: string;
  wrap(context: Uint8Array, plain: Uint8Array): Promise<Uint8Array>;
  /** Throws `KeyringDamaged` if the bytes are damaged, `RootKeyError` if another key wrapped them. */
  unwrap(context: Uint8Array, wrapped: Uint8Array): Promise<Uint8Array>;
}

/** The unencrypted facts about a slot that a provider may need, such as the number of shares. They prove nothing. */
export interface SlotFacts {
  readonly id: string;
  readonly provider: string;
  /** When it was added, in milliseconds since 1970; null for the only root key of data that has no slots. */
  readonly created: number | null;
  readonly settings: SlotSettings;
}

export type SlotSettings = Readonly<Record<string, string | number | readonly string[]>>;

/**
 * Provides a root key: `open` reads an existing one, for a slot if the keyring has slots, and `create` creates it at the
 * first start.
 */
export interface RootKeySource {
  readonly provider: string;
  /** Whether one already exists, as far as that can be known: a passphrase leaves no trace. */
  exists(): Promise<boolean>;
  open(slot?: SlotFacts): Promise<RootKey>;
  create(): Promise<RootKey>;
}

/** What a new slot is made of: how its provider wraps, and the facts that opening it will need. */
export interface SlotMaterial {
  readonly root: RootKey;
  readonly settings: SlotSettings;
}

const networkProviders: ReadonlySet<string> = new Set(['transit']);

/** Whether opening with this provider requires another service to be reachable. */
export function needsNetwork(provider: string): boolean {
  return networkProviders.has(provider);
}

/** The root key is not available, or is not the right one. The message is one line for the operator. */
export class RootKeyError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RootKeyError';
  }
}

/** The wrapped keyring is not as it was stored. Another root key would not help. */
export class KeyringDamaged extends RootKeyError {
  constructor(cause?: unknown) {
    super('the stored keyring is damaged: restore it from a backup', cause);
    this.name = 'KeyringDamaged';
  }
}

/** The service that has the root key does not answer, or not now. A later attempt may succeed. */
export class RootKeyUnreachable extends RootKeyError {
  constructor(message: string, cause?: unknown) {
    super(message, cause);
    this.name = 'RootKeyUnreachable';
  }
}

/** Why a slot could not be opened. */
export interface SlotFailure {
  readonly slot: SlotFacts;
  readonly reason: string;
  readonly isUnreachable: boolean;
}

/** None of the keyring’s slots can be opened with what the operator has configured. */
export class NoSlotOpens extends RootKeyError {
  readonly slots: readonly SlotFacts[];
  readonly failures: readonly SlotFailure[];

  constructor(slots: readonly SlotFacts[], failures: readonly SlotFailure[]) {
    const tried = failures.map(({ slot, reason }) => `${slot.provider} ${slot.id}: ${reason}`);
    const left = slots
      .filter(({ id }) => !failures.some(({ slot }) => slot.id === id))
      .map(({ provider, id }) => `${provider} ${id}: not configured here`);
    super(`no slot of the root key opens this data (${[...tried, ...left].join('; ')})`);
    this.name = 'NoSlotOpens';
    this.slots = slots;
    this.failures = failures;
  }
}
