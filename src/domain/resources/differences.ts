/** What a change does to a resource, in words for the person who confirms it. Values are not part of it. */
import { hasEffect } from '../../contract/audit-actions.ts';
import type { Difference, ProposedAction } from '../../contract/proposals.ts';
import { iso } from '../../contract/text.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { isEnabled } from '../../store/schema/enabled.ts';
import type { Labels } from './sealing.ts';

interface Stated {
  readonly row: ResourceRow;
  readonly labels: Labels;
}

/** Contained in the value, or derived from it. Who may not see a secret doesn’t learn that it is referred to. */
const unshown = new Set(['public_pem', 'references', 'rotates_at', 'rotated_at']);

/** The fields that differ; for a new resource, all that are set. */
export function differenceOf(before: Stated | null, after: Stated): Difference[] {
  const old = before === null ? new Map<string, string>() : fieldsOf(before);
  const next = fieldsOf(after);
  const names = [...new Set([...old.keys(), ...next.keys()])];
  return names
    .map(field => ({ field, before: old.get(field) ?? null, after: next.get(field) ?? null }))
    .filter(({ before, after }) => before !== after);
}

export function actionOfVerb(verb: string): ProposedAction {
  if (hasEffect(verb, 'creates')) return 'create';
  if (hasEffect(verb, 'trashes')) return 'delete';
  if (hasEffect(verb, 'removes')) return 'purge';
  if (hasEffect(verb, 'restores')) return 'restore';
  if (hasEffect(verb, 'reverts')) return 'roll_back';
  return verb === 'key.rotated' ? 'rotate' : 'update';
}

function fieldsOf({ row, labels }: Stated): Map<string, string> {
  const { enabled: _, ...attributes } = JSON.parse(row.attributes) as Record<string, unknown>;
  const shown = Object.entries(attributes).filter(([name]) => !unshown.has(name));
  const fields: [string, unknown][] = [
    ['name', row.name],
    ['content_type', row.content_type],
    ['enabled', isEnabled(row) ? null : false],
    ['activation_date', row.activation_date && iso(row.activation_date)],
    ['expiration_date', row.expiration_date && iso(row.expiration_date)],
    // A secret's note is stored as its description.
    [row.type === 'secret' ? 'note' : 'description', labels.description || null],
    ...Object.entries(labels.tags).map(([name, text]): [string, unknown] => [`tags.${name}`, text]),
    ...shown,
  ];
  return new Map(fields.flatMap(([name, value]) => (value == null ? [] : [[name, textOf(value)]])));
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
