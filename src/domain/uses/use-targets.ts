/**
 * Caches what is used in a vault, like answers: the vault with its key, the requested secrets or keys, and their
 * rules. Everything of a vault is dropped as soon as a change in it is reported, including changes to rules; nothing
 * is cached while changes can't be received. Whether the access key can see it, and whether it is active now, is
 * checked each time. Values stay sealed; the number and size of cached values are bounded.
 */
import type { Reader, ResourceKind } from '../../access/caller.ts';
import { isId } from '../../contract/id.ts';
import type { UseRuleRow } from '../../store/records/use-rules.ts';
import { RowCache } from '../kernel/row-cache.ts';
import type { VerifiedResource } from '../reads/visibility.ts';
import type { OpenVault } from '../resources/sealing.ts';
import type { UseParts } from './recorded-uses.ts';

interface UseTarget<Rule> {
  readonly vault: OpenVault;
  readonly row: VerifiedResource;
  readonly rules: readonly Rule[];
}

interface KeptVault<Rule> {
  readonly vault: OpenVault;
  readonly usables: Map<string, UseTarget<Rule>>;
}

const mostVaults = 500;
const mostOfVault = 50;
/** In bytes of a sealed value: tokens and private keys are shorter. */
const longestKept = 8 * 1024;

export type FindUseTarget<Rule> = (reader: Reader, asked: string) => Promise<UseTarget<Rule>>;

/** Finds resources of one kind by name; keys also by id. */
export function targetsOfUsesWith<Rule>(
  { store, stamps, visibility }: UseParts,
  kind: ResourceKind,
  ruleOf: (row: UseRuleRow) => Rule,
): FindUseTarget<Rule> {
  const kept = new RowCache<KeptVault<Rule>>(store, mostVaults);

  async function openVault(reader: Reader): Promise<KeptVault<Rule>> {
    const { vaultId } = reader;
    const known = kept.get(vaultId);
    if (known !== undefined) return known;
    const open = async () => ({ vault: await visibility.openVault(reader), usables: new Map() });
    return (await kept.load(vaultId, open))!;
  }

  async function find(reader: Reader, vault: OpenVault, asked: string): Promise<UseTarget<Rule>> {
    const row = await (kind === 'key' && isId(asked)
      ? visibility.byId(reader, asked, kind)
      : visibility.byName(reader, kind, asked));
    const rules = (await store.useRules.ofResource(row.id)).map(found =>
      ruleOf(stamps.useRule.believe(found)),
    );
    return { vault, row, rules };
  }

  return async (reader, asked) => {
    const { vault, usables } = await openVault(reader);
    const known = usables.get(asked);
    if (known !== undefined) {
      visibility.refuseUnseen(reader, known.row);
      return known;
    }
    const found = await find(reader, vault, asked);
    // If a change arrived in the meantime, this is no longer the cached vault, and what it contains is never used
    // again.
    if (usables.size < mostOfVault && found.row.value.length <= longestKept) usables.set(asked, found);
    return found;
  };
}
