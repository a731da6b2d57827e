/**
 * What templates stand for in an answer. Each further vault is named before anything of it is read, so that the answer
 * is dropped as soon as that vault changes. A template that can't be resolved is left out of a list, and is an error by
 * itself; its text is never part of an answer.
 */
import { type Reader, readerSeesName } from '../../access/caller.ts';
import { unresolved } from '../../contract/templates.ts';
import type { ResourceRow, ResourceWithValue } from '../../store/records/resources.ts';
import type { Work } from '../kernel/fair-turns.ts';
import { nextChangeOf } from '../resources/lifecycle.ts';
import type { Records } from '../resources/records.ts';
import type { DependsOn, OpenTemplate, Resolution } from '../resources/references.ts';
import type { OpenVault } from '../resources/sealing.ts';
import type { Contained, Templates } from './answer-cache.ts';

/** A row whose stamp was checked. */
export type VerifiedResource = Omit<ResourceWithValue, 'audited_revision'>;

/** The turns of a load, which is dropped if a vault that it depends on changes. */
export interface Turns extends Work {
  readonly dependsOn?: DependsOn;
}

/** What is shown of a kind. */
export interface Listed {
  readonly items: readonly unknown[];
  /** When it stops being valid. */
  readonly validUntil: number;
  readonly templates?: Templates;
}

/** A value, and where it comes from. */
interface Opened {
  readonly value: string;
  /** The values of other secrets that it contains. */
  readonly values: readonly string[];
  readonly validUntil: number;
  readonly templates?: Templates;
}

/** A place in a list for what a template stands for. */
interface Slot {
  readonly row: VerifiedResource;
  readonly template: OpenTemplate;
}

type Present = (row: VerifiedResource, expired: boolean, resolved: string) => unknown;

export function resolvedValuesWith(
  { references, openValue }: Pick<Records, 'references' | 'openValue'>,
  now: () => number,
) {
  return {
    /** Adds a slot for each template. Null unless it is one. */
    slotsIn: (vault: OpenVault, slots: Set<unknown>) => (row: VerifiedResource) => {
      const template = references.opened(row, vault, row);
      if (template === null) return null;
      const slot: Slot = { row, template };
      slots.add(slot);
      return slot;
    },

    /** Fills in what templates stand for. */
    async fill(
      reader: Reader,
      turns: Turns,
      found: readonly unknown[],
      slots: ReadonlySet<unknown>,
      present: Present,
    ): Promise<Listed> {
      const wanted = [...slots] as Slot[];
      const templates = wanted.map(({ template }) => template);
      const resolution = await references.resolution(reader.organizationId, templates, {
        dependsOn: turns.dependsOn,
        turns,
      });
      const omitted: string[] = [];
      const contained = new Map<string, Contained>();
      const filled = new Map<unknown, unknown>();
      for (const slot of wanted) {
        await turns.pause();
        const resolved = resolution.resolve(slot.template);
        if (resolved === null) omitted.push(slot.row.name);
        else filled.set(slot, present(slot.row, false, resolved.value));
        for (const one of resolved === null ? [] : containedIn(resolution, slot.template, reader))
          contained.set(one.secretId, one);
      }
      return {
        items: found.flatMap(item =>
          !slots.has(item) ? [item] : filled.has(item) ? [filled.get(item)] : [],
        ),
        templates: { unresolved: omitted, contained: [...contained.values()] },
        validUntil: resolution.validUntil,
      };
    },

    /** The value of one secret. Throws if it is a template that can't be resolved. */
    async opened(row: VerifiedResource, vault: OpenVault, dependsOn?: DependsOn): Promise<Opened> {
      const validUntil = nextChangeOf([row], now());
      const template = references.opened(row, vault, row);
      if (template === null)
        return { value: openValue(row, vault.sealer, row.value), values: [], validUntil };
      const resolution = await references.resolution(row.organization_id, [template], { dependsOn });
      const resolved = resolution.resolve(template);
      if (resolved === null) throw unresolved();
      return {
        value: resolved.value,
        values: resolved.values,
        templates: { unresolved: [], contained: containedIn(resolution, template) },
        validUntil: Math.min(validUntil, resolution.validUntil),
      };
    },
  };
}

/** What a template contains of other secrets, except those that the reader gets anyway. */
function containedIn(resolution: Resolution, template: OpenTemplate, shown?: Reader): Contained[] {
  const isShown = ({ vault_id, name }: ResourceRow) =>
    shown !== undefined && vault_id === shown.vaultId && readerSeesName(shown, name);
  return resolution
    .reached(template)
    .filter(row => !isShown(row))
    .map(({ id, vault_id }) => ({ vaultId: vault_id, secretId: id, via: template.id }));
}
