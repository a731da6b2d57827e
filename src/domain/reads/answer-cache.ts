/**
 * Cached answers: one sealed blob for each vault, selection and set of restrictions, so that a read costs one
 * decryption. A vault's blobs are dropped as soon as a change in it is reported; none is used past a date that
 * changes its content; an answer whose vault changed while it was loaded is returned once and not cached. Requests
 * for the same answer share one load. Memory is bounded, and the oldest vault is dropped first; a vault with many
 * answers displaces only its own.
 */
import type { Sealed } from '../../base/bytes.ts';
import { MemorySeal } from '../../keyring/sealing/memory.ts';
import type { Store } from '../../store/store.ts';
import type { DependsOn } from '../resources/references.ts';
import type { AnswerFormat } from './vault-request.ts';

export interface VaultAnswer {
  readonly body: Buffer;
  readonly format: AnswerFormat;
  /** Digest of the body before any encoding; null for PEM, which is sent in full each time. */
  readonly digest: string | null;
  /** What was read, for the log. */
  readonly requested: string;
  /** If there are templates among what was read. */
  readonly templates?: Templates | undefined;
  /** The time at which it stops being valid; Infinity if it has no end. */
  readonly validUntil: number;
}

export interface Templates {
  /** The names of those that were left out because a reference can't be resolved. */
  readonly unresolved: readonly string[];
  /** The values of other secrets that the answer contains. */
  readonly contained: readonly Contained[];
}

/** A secret whose value is part of an answer, and the template through which it is. */
export interface Contained {
  readonly vaultId: string;
  readonly secretId: string;
  readonly via: string;
}

export interface CachedAnswer extends Omit<VaultAnswer, 'body'> {
  /** The vault, selection and restrictions, bound into the blob. */
  readonly context: Uint8Array;
  readonly sealed: Sealed;
  /** Decrypted for the requests of this turn of the event loop; the next turn decrypts it again. */
  opened: Buffer | null;
}

interface VaultEntries {
  readonly entries: Map<string, CachedAnswer>;
  readonly loads: Map<string, Promise<VaultAnswer>>;
  bytes: number;
}

type Changes = Pick<Store, 'onChange' | 'hearsChanges'>;

/** In bytes, of a whole process. */
export const answerMemory = 48 * 1024 * 1024;
/** No answer, and no vault with all its answers, takes more than a quarter of the memory. */
const share = 4;
/** The cost of an entry in addition to its blob. */
const overhead = 400;

export class AnswerCache {
  readonly #changes: Changes;
  readonly #most: number;
  readonly #seal = new MemorySeal();
  readonly #vaults = new Map<string, VaultEntries>();
  /** The vaults whose templates refer to a vault, since that vault last changed. */
  readonly #dependents = new Map<string, Set<string>>();
  #bytes = 0;

  constructor(changes: Changes, most = answerMemory) {
    this.#changes = changes;
    this.#most = most;
    changes.onChange(touched => this.#drop(touched));
  }

  /** The cached answer, still sealed, or undefined if it has to be created. */
  peek(vaultId: string, key: string, now: number): CachedAnswer | undefined {
    // First, because it may bring the news that the vault has changed.
    if (!this.#changes.hearsChanges()) return undefined;
    const entry = this.#vaults.get(vaultId)?.entries.get(key);
    return entry === undefined || now >= entry.validUntil ? undefined : entry;
  }

  open(cached: CachedAnswer): Buffer {
    if (cached.opened !== null) return cached.opened;
    cached.opened = this.#seal.open(cached.context, cached.sealed);
    setImmediate(() => {
      cached.opened = null;
    });
    return cached.opened;
  }

  /** `make` names each further vault that the answer depends on, before it reads anything of it. */
  load(
    vaultId: string,
    key: string,
    make: (dependsOn: DependsOn) => Promise<VaultAnswer>,
  ): Promise<VaultAnswer> {
    const vault = this.#vault(vaultId);
    const underway = vault.loads.get(key);
    if (underway !== undefined) return underway;
    const loading = make(other => this.#note(vaultId, vault, other)).finally(() => {
      if (vault.loads.get(key) === loading) vault.loads.delete(key);
    });
    vault.loads.set(key, loading);
    loading.then(
      answer => this.#keep(vaultId, vault, key, answer),
      () => {},
    );
    return loading;
  }

  /** From now on, a change in the other vault drops this one too, with what is being loaded for it. */
  #note(vaultId: string, vault: VaultEntries, other: string): void {
    if (other === vaultId || this.#vaults.get(vaultId) !== vault) return;
    const dependents = this.#dependents.get(other) ?? new Set<string>();
    this.#dependents.set(other, dependents.add(vaultId));
  }

  #vault(vaultId: string): VaultEntries {
    let vault = this.#vaults.get(vaultId);
    if (vault === undefined) {
      vault = { entries: new Map(), loads: new Map(), bytes: 0 };
      this.#vaults.set(vaultId, vault);
    }
    return vault;
  }

  /** A vault that was dropped in the meantime is another object, so answers loaded for the old one are not cached. */
  #keep(vaultId: string, vault: VaultEntries, key: string, { body, ...answer }: VaultAnswer): void {
    if (!this.#changes.hearsChanges() || this.#vaults.get(vaultId) !== vault) return;
    if (body.length > this.#most / share) return;
    this.#remove(vault, key);
    const context = Buffer.from(`${vaultId} ${key}`, 'utf8');
    const sealed = this.#seal.seal(context, body);
    const size = sealed.length + overhead;
    this.#makeRoomIn(vault, size);
    vault.entries.set(key, { ...answer, context, sealed, opened: null });
    vault.bytes += size;
    this.#bytes += size;
    this.#makeRoom(vaultId);
  }

  #makeRoomIn(vault: VaultEntries, size: number): void {
    for (const key of vault.entries.keys()) {
      if (vault.bytes + size <= this.#most / share) return;
      this.#remove(vault, key);
    }
  }

  #makeRoom(keep: string): void {
    for (const vaultId of this.#vaults.keys()) {
      if (this.#bytes <= this.#most) return;
      if (vaultId !== keep) this.#dropVault(vaultId);
    }
    if (this.#bytes > this.#most) this.#dropVault(keep);
  }

  #remove(vault: VaultEntries, key: string): void {
    const entry = vault.entries.get(key);
    if (entry === undefined) return;
    const size = entry.sealed.length + overhead;
    vault.bytes -= size;
    this.#bytes -= size;
    vault.entries.delete(key);
  }

  #drop(touched: readonly string[] | 'all'): void {
    for (const vaultId of touched === 'all' ? [...this.#vaults.keys()] : touched) {
      this.#dropVault(vaultId);
      for (const dependent of this.#dependents.get(vaultId) ?? []) this.#dropVault(dependent);
      this.#dependents.delete(vaultId);
    }
  }

  #dropVault(vaultId: string): void {
    const vault = this.#vaults.get(vaultId);
    if (vault === undefined) return;
    for (const key of [...vault.entries.keys()]) this.#remove(vault, key);
    this.#vaults.delete(vaultId);
  }
}
