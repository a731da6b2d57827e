/**
 * Resolves templates. A reference stands for the current value of an active secret: of the same vault, or of a vault
 * that lets the template's vault refer to it. Every row and vault on the way is read and verified each time, and
 * nothing that was resolved is stored, so there is nothing that could be left behind by a change. A template that refers
 * to itself, whose chain is too long, which depends on too many secrets or whose value would be too large is not
 * resolved at all. All templates of a request share one resolution, which reads each secret once, in short turns.
 */

import { largestValue } from '../../contract/secrets.ts';
import { longestChain } from '../../contract/templates.ts';
import { Unsealable } from '../../keyring/sealing/envelope.ts';
import type { ResourceRow, ResourceWithValue, VersionRow } from '../../store/records/resources.ts';
import type { Work } from '../kernel/fair-turns.ts';
import type { Parts } from '../kernel/parts.ts';
import { nextChangeOf, stateAt } from './lifecycle.ts';
import type { OpenVault, Sealing } from './sealing.ts';
import {
  distinctIds,
  kindOf,
  referableFrom,
  referencesIn,
  type StoredPart,
  type StoredReference,
} from './templates.ts';

/** A template as it was opened, in the vault that contains it. */
export interface OpenTemplate {
  readonly id: string;
  readonly vaultId: string;
  readonly parts: readonly StoredPart[];
}

export interface ResolvedTemplate {
  readonly value: string;
  /** The values that it contains. */
  readonly values: readonly string[];
  /** The length of its longest chain of references. */
  readonly chain: number;
}

/** Called with a vault before anything of it is read. */
export type DependsOn = (vaultId: string) => void;

/** A version of a secret, or its row with the current one. */
type StoredValue = Pick<VersionRow, 'value' | 'version' | 'attributes'>;
type OpenStored = (
  row: ResourceRow,
  vault: Pick<OpenVault, 'sealer'>,
  stored: StoredValue,
) => OpenTemplate | null;

type Found = Omit<ResourceWithValue, 'audited_revision'>;
type Node = { readonly row: Found; readonly vault: OpenVault; readonly parts: readonly StoredPart[] | null };

/** How a resolution reads. */
interface Reading {
  readonly dependsOn?: DependsOn | undefined;
  readonly turns?: Work | undefined;
}

/** A template whose references are followed: what was reached, and what was reached last. */
interface Walk {
  readonly template: OpenTemplate;
  readonly reached: Set<string>;
  next: readonly StoredReference[];
}

const rowsAtOnce = 200;
/** Secrets that a template depends on, at any depth, when it is read. An earlier release let this many be written. */
export const mostRead = 500;

export type References = ReturnType<typeof referencesWith>;

export function referencesWith(
  parts: Pick<Parts, 'store' | 'stamps' | 'now'>,
  sealing: Pick<Sealing, 'openVaultRow' | 'openValue' | 'openTemplate'>,
) {
  /** Null if it is a value. A release that knows no templates leaves the kind when it writes a value. */
  function openedTemplate(
    row: ResourceRow,
    { sealer }: Pick<OpenVault, 'sealer'>,
    { value, version, attributes }: StoredValue,
  ): OpenTemplate | null {
    if (kindOf({ attributes }) === 'value') return null;
    try {
      const stored = sealing.openTemplate(row, sealer, value, version);
      return { id: row.id, vaultId: row.vault_id, parts: stored };
    } catch (error) {
      if (error instanceof Unsealable) return null;
      throw error;
    }
  }
  function shared(organizationId: string, reading: Reading = {}): Resolution {
    return new Resolution({ ...parts, ...sealing, opened: openedTemplate }, organizationId, reading);
  }

  return {
    opened: openedTemplate,

    /** Shared by all templates of a request; what they refer to is loaded with each of them. */
    shared,

    /** What these templates refer to, at any depth, as it is stored now. */
    async resolution(
      organizationId: string,
      templates: readonly OpenTemplate[],
      reading?: Reading,
    ): Promise<Resolution> {
      const resolution = shared(organizationId, reading);
      await resolution.load(templates);
      return resolution;
    },
  };
}

interface ResolutionParts
  extends Pick<Parts, 'store' | 'stamps' | 'now'>,
    Pick<Sealing, 'openVaultRow' | 'openValue'> {
  readonly opened: OpenStored;
}

export class Resolution {
  readonly #parts: ResolutionParts;
  readonly #organizationId: string;
  readonly #reading: Reading;
  readonly #nodes = new Map<string, Node>();
  readonly #vaults = new Map<string, OpenVault | null>();
  readonly #values = new Map<string, ResolvedTemplate | null>();
  readonly #chains = new Map<string, number>();
  readonly #tooWide = new WeakSet<OpenTemplate>();
  #loaded: Promise<unknown> = Promise.resolve();

  constructor(parts: ResolutionParts, organizationId: string, reading: Reading) {
    this.#parts = parts;
    this.#organizationId = organizationId;
    this.#reading = reading;
  }

  /** Reads what they refer to and is not read yet. A template that reaches more than `most` is followed no further. */
  load(templates: readonly OpenTemplate[], most = mostRead): Promise<void> {
    // One after the other, so that none reads what another is reading.
    const loading = this.#loaded.then(() => this.#load(templates, most));
    this.#loaded = loading.catch(() => {});
    return loading;
  }

  async #load(templates: readonly OpenTemplate[], most: number): Promise<void> {
    let walks = templates.map(
      (template): Walk => ({ template, reached: new Set(), next: referencesIn(template.parts) }),
    );
    // A chain that is too long is not followed to its end.
    for (let depth = 0; walks.length > 0 && depth <= longestChain; depth++) {
      const within: Walk[] = [];
      for (const walk of walks) {
        await this.#reading.turns?.pause();
        if (this.#isWithin(walk, most)) within.push(walk);
      }
      await this.#read(within.flatMap(({ next }) => next));
      for (const walk of within) {
        await this.#reading.turns?.pause();
        walk.next = walk.next.flatMap(([, id]) => referencesIn(this.#nodes.get(id)?.parts ?? []));
      }
      walks = within.filter(({ next }) => next.length > 0);
    }
  }

  /** Keeps of what it reached next that which is new. */
  #isWithin(walk: Walk, most: number): boolean {
    const { template, reached, next } = walk;
    walk.next = next.filter(([, id]) => reached.size <= most && !reached.has(id) && reached.add(id));
    if (reached.size <= most) return true;
    this.#tooWide.add(template);
    return false;
  }

  async #read(wanted: readonly StoredReference[]): Promise<void> {
    const unread = wanted.filter(([, id]) => !this.#nodes.has(id));
    if (unread.length === 0) return;
    await this.#openVaults(unread.map(([vaultId]) => vaultId));
    const ids = distinctIds(unread);
    for (let at = 0; at < ids.length; at += rowsAtOnce) {
      const rows = await this.#parts.store.resources.secretsWithValues(
        this.#organizationId,
        ids.slice(at, at + rowsAtOnce),
      );
      await this.#reading.turns?.resume();
      // What was found out without these no longer applies.
      this.#values.clear();
      this.#chains.clear();
      for (const found of rows) {
        await this.#reading.turns?.pause();
        this.#keep(this.#parts.stamps.resource.believe(found));
      }
    }
  }

  async #openVaults(ids: readonly string[]): Promise<void> {
    for (const id of new Set(ids)) {
      if (this.#vaults.has(id)) continue;
      this.#reading.dependsOn?.(id);
      const row = await this.#parts.store.resources.vault(id);
      const isOwn = row?.organization_id === this.#organizationId;
      this.#vaults.set(
        id,
        isOwn ? await this.#parts.openVaultRow(this.#parts.stamps.resource.believe(row)) : null,
      );
    }
  }

  #keep(row: Found): void {
    const vault = this.#vaults.get(row.vault_id);
    if (vault == null) return;
    const parts = this.#parts.opened(row, vault, row)?.parts ?? null;
    this.#nodes.set(row.id, { row, vault, parts });
  }

  /** Null if it can't be resolved now. */
  resolve(template: OpenTemplate): ResolvedTemplate | null {
    return this.isTooWide(template) ? null : this.#resolved(template, new Set([template.id]));
  }

  #resolved({ vaultId, parts }: OpenTemplate, path: Set<string>): ResolvedTemplate | null {
    const found: ResolvedTemplate[] = [];
    let length = 0;
    for (const part of parts) {
      const one = typeof part === 'string' ? plain(part) : this.#target(vaultId, part, path);
      length += one?.value.length ?? Number.POSITIVE_INFINITY;
      if (one === null || length > largestValue) return null;
      found.push(one);
    }
    const value = found.map(one => one.value).join('');
    const chain = Math.max(0, ...found.map(one => one.chain + 1));
    if (chain > longestChain || Buffer.byteLength(value) > largestValue) return null;
    return { value, values: [...new Set(found.flatMap(one => one.values))], chain };
  }

  #target(from: string, [vaultId, id]: StoredReference, path: Set<string>): ResolvedTemplate | null {
    const node = this.#nodes.get(id);
    if (node === undefined || path.has(id) || !this.mayRefer(from, vaultId)) return null;
    const { row, vault, parts } = node;
    if (row.vault_id !== vaultId || stateAt(row, this.#parts.now()) !== 'active') return null;
    const known = this.#values.get(id);
    if (known !== undefined) return known;
    path.add(id);
    const found =
      parts === null
        ? { ...plain(this.#parts.openValue(row, vault.sealer, row.value)), chain: 0 }
        : this.#resolved({ id, vaultId, parts }, path);
    path.delete(id);
    const target = found && { ...found, values: [found.value, ...found.values] };
    this.#values.set(id, target);
    return target;
  }

  /** Whether it reaches more than it was loaded with; what it reaches is then unknown. */
  isTooWide(template: OpenTemplate): boolean {
    return this.#tooWide.has(template);
  }

  /** Whether templates of a vault may refer to the secrets of another one. */
  mayRefer(from: string, vaultId: string): boolean {
    const vault = this.#vaults.get(vaultId);
    return vault != null && (from === vaultId || referableFrom(vault.row).includes(from));
  }

  /** The secrets that a template refers to, at any depth, as far as they exist. */
  reached({ parts }: OpenTemplate): ResourceRow[] {
    const seen = new Map<string, ResourceRow>();
    const add = (of: readonly StoredPart[]) => {
      for (const [, id] of referencesIn(of)) {
        const node = this.#nodes.get(id);
        if (node === undefined || seen.has(id)) continue;
        seen.set(id, node.row);
        if (node.parts !== null) add(node.parts);
      }
    };
    add(parts);
    return [...seen.values()];
  }

  /** The length of the longest chain of references, whether or not they can be resolved. */
  chainOf({ parts }: Pick<OpenTemplate, 'parts'>): number {
    return Math.max(0, ...referencesIn(parts).map(([, id]) => 1 + this.#chainBelow(id)));
  }

  #chainBelow(id: string): number {
    const known = this.#chains.get(id);
    if (known !== undefined) return known;
    this.#chains.set(id, longestChain); // For a circle, which is longer than any chain.
    const parts = this.#nodes.get(id)?.parts ?? null;
    const chain = parts === null ? 0 : this.chainOf({ parts });
    this.#chains.set(id, chain);
    return chain;
  }

  row(id: string): ResourceRow | undefined {
    return this.#nodes.get(id)?.row;
  }

  vault(id: string): ResourceRow | undefined {
    return this.#vaults.get(id)?.row;
  }

  /** When what was read changes by itself, because of a date; Infinity if it doesn't. */
  get validUntil(): number {
    return nextChangeOf(
      [...this.#nodes.values()].map(({ row }) => row),
      this.#parts.now(),
    );
  }
}

/** Text that stands for itself. */
function plain(value: string): ResolvedTemplate {
  return { value, values: [], chain: -1 };
}
