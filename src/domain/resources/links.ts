/**
 * Turns the text of a template into what is stored, and back. Writing a template requires the permission to reveal what
 * it refers to, and that all of it can be resolved now. A secret that doesn't exist and one that the writer may not
 * reveal are the same error. What was found on the way is a condition of the transaction, so that of several writes that
 * together would form a circle or a chain that is too long, the last one is refused.
 */
import type { Caller } from '../../access/caller.ts';
import { allows } from '../../access/policy.ts';
import { type Failure, invalid } from '../../contract/errors.ts';
import {
  formatTemplate,
  longestChain,
  type NamedReference,
  parseTemplate,
  type TemplatePart,
} from '../../contract/templates.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { References, Resolution } from './references.ts';
import { isReviewed, type OpenVault } from './sealing.ts';
import { distinctIds, referencesIn, type StoredPart, type StoredReference } from './templates.ts';

/** A template that may be stored. */
export interface LinkedTemplate {
  /** Its parts, as they are sealed. */
  readonly text: string;
  readonly targetIds: readonly string[];
  /** Those of other vaults, which the readers of the template's vault are given by it. */
  readonly givenIds: readonly string[];
  /** The secrets and vaults that it depends on. It is stored only if they are still as they were read. */
  readonly dependsOn: readonly ResourceRow[];
}

/** Secrets that a template depends on, at any depth, when it is written. */
const mostReached = 100;

type Place = Pick<OpenVault['row'], 'id' | 'organization_id' | 'attributes'>;

export type Links = ReturnType<typeof linksWith>;

export function linksWith(
  { store, stamps, guard }: Pick<Parts, 'store' | 'stamps' | 'guard'>,
  references: References,
) {
  /** Null if there is none that the caller may reveal. Takes as long either way. */
  async function find(caller: Caller, own: Place, named: NamedReference): Promise<StoredReference | null> {
    const vault =
      named.vault === null ? own : await store.resources.vaultByName(caller.organizationId, named.vault);
    const vaultId = vault?.id ?? own.id;
    const found = await store.resources.byName(vaultId, 'secret', named.name);
    const mayReveal = vault !== undefined && allows(caller, 'secrets:reveal', vaultId);
    return found === undefined || !mayReveal ? null : [vaultId, stamps.resource.believe(found).id];
  }

  async function parse(caller: Caller, own: Place, text: string): Promise<StoredPart[]> {
    const parts = parseTemplate(text);
    const found = await Promise.all(
      parts.map(part => (typeof part === 'string' ? part : find(caller, own, part))),
    );
    const references = found.filter(part => typeof part !== 'string');
    if (references.includes(null)) throw unknown(references.indexOf(null) + 1);
    return found as StoredPart[];
  }

  /** `id` is the secret that is written; null for a new one. */
  async function link(
    caller: Caller,
    own: Place,
    parts: readonly StoredPart[],
    id: string | null,
    resolution = references.shared(own.organization_id),
  ): Promise<LinkedTemplate> {
    const template = { id: id ?? '', vaultId: own.id, parts };
    const [above] = await Promise.all([
      id === null ? 0 : store.references.chainTo(id, longestChain),
      resolution.load([template], mostReached),
    ]);
    checkTargets(caller, own, resolution, parts);
    const given = referencesIn(parts).filter(([vaultId]) => vaultId !== own.id);
    // Whoever reads the template reads them until a person ends that.
    const givenFrom = [...new Set(given.map(([vaultId]) => vaultId))];
    await guard.mayShow(caller, ['secrets:reveal'], givenFrom, { until: null });
    if (resolution.isTooWide(template))
      throw invalid('value', `must not depend on more than ${mostReached} secrets`);
    const reached = resolution.reached(template);
    if (reached.some(row => row.id === id)) throw invalid('value', 'would refer to itself');
    if (above + resolution.chainOf(template) > longestChain)
      throw invalid('value', `would be part of a chain of more than ${longestChain} references`);
    if (resolution.resolve(template) === null)
      throw invalid('value', 'can’t be resolved: a secret is not active, or the result is too large');
    const vaultIds = new Set(reached.map(({ vault_id }) => vault_id).filter(vaultId => vaultId !== own.id));
    const vaults = [...vaultIds].map(vaultId => resolution.vault(vaultId)!);
    // Otherwise what it says could be changed there by one person.
    if (isReviewed(own) && !vaults.every(isReviewed))
      throw invalid('value', 'must depend only on vaults with review, because this vault has it');
    return {
      text: JSON.stringify(parts),
      targetIds: distinctIds(referencesIn(parts)),
      givenIds: distinctIds(given),
      dependsOn: [...reached, ...vaults],
    };
  }

  function checkTargets(
    caller: Caller,
    own: Place,
    resolution: Resolution,
    parts: readonly StoredPart[],
  ): void {
    for (const [at, [vaultId, target]] of referencesIn(parts).entries()) {
      if (resolution.row(target) === undefined || !allows(caller, 'secrets:reveal', vaultId))
        throw unknown(at + 1);
      if (!resolution.mayRefer(own.id, vaultId))
        throw invalid('value', `reference ${at + 1} is to a vault that doesn’t let this vault refer to it`);
    }
  }

  return {
    link,

    async parsed(
      caller: Caller,
      own: Place,
      text: string,
      id: string | null,
      resolution?: Resolution,
    ): Promise<LinkedTemplate> {
      return link(caller, own, await parse(caller, own, text), id, resolution);
    },

    /** The text with the current names; references to secrets that the caller may not see are left empty. */
    async text(caller: Caller, own: Place, parts: readonly StoredPart[]): Promise<string> {
      const template = { id: '', vaultId: own.id, parts };
      const resolution = await references.resolution(own.organization_id, [template]);
      const shown = (part: StoredPart): TemplatePart<NamedReference | null> => {
        if (typeof part === 'string') return part;
        const [vaultId, id] = part;
        const row = resolution.row(id);
        if (row === undefined || !allows(caller, 'secrets:read', vaultId)) return null;
        if (vaultId === own.id) return { vault: null, name: row.name };
        return allows(caller, 'vaults:read', vaultId)
          ? { vault: resolution.vault(vaultId)!.name, name: row.name }
          : null;
      };
      return formatTemplate(parts.map(shown));
    },
  };
}

/** The same whether it doesn't exist or the writer may not reveal it. */
function unknown(number: number): Failure {
  return invalid('value', `reference ${number} is not to a secret that you may reveal`);
}
