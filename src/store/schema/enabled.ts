/**
 * Whether a resource is enabled. A template's column always says that it is not, and its attributes say whether it is:
 * an earlier release knows no templates, so it leaves the template out like any disabled secret, and serves the others.
 */
import { type RawBuilder, sql } from 'kysely';
import type { ResourceTable } from './schema.ts';

export type Switched = Pick<ResourceTable, 'enabled' | 'attributes'>;

/** In the attributes of an enabled template, as JSON. No other attribute can contain it: quotes in text are escaped. */
const enabledByAttribute = '"enabled":true';

export function isEnabled({ enabled, attributes }: Switched): boolean {
  return enabled === 1 || attributes.includes(enabledByAttribute);
}

/** The same in SQL. */
export const isDisabled: RawBuilder<boolean> = sql<boolean>`(resources.enabled = 0
  AND resources.attributes NOT LIKE ${sql.lit(`%${enabledByAttribute}%`)})`;

/** What is stored of a resource that is enabled or not. The attribute is there only if it is true. */
export function switched(isOn: boolean, isTemplate: boolean, attributes: string): Switched {
  if (!isTemplate && !attributes.includes(enabledByAttribute)) return { enabled: isOn ? 1 : 0, attributes };
  const { enabled: _, ...others } = JSON.parse(attributes) as { readonly enabled?: boolean };
  if (!isTemplate) return { enabled: isOn ? 1 : 0, attributes: JSON.stringify(others) };
  return { enabled: 0, attributes: JSON.stringify(isOn ? { ...others, enabled: true } : others) };
}
