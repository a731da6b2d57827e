/**
 * The state of a resource at a given time. It is computed, never stored: listings, direct fetches, the dashboard and
 * the expiry watch all use this function. A date takes effect at exactly that time.
 */
import { isEnabled, type Switched } from '../../store/schema/enabled.ts';

export interface Lifecycle extends Switched {
  readonly activation_date: number | null;
  readonly expiration_date: number | null;
  readonly deleted_at: number | null;
}

export type State = 'active' | 'disabled' | 'not-active' | 'expired' | 'deleted';

export function stateAt(resource: Lifecycle, now: number): State {
  if (resource.deleted_at !== null) return 'deleted';
  if (!isEnabled(resource)) return 'disabled';
  if (resource.activation_date !== null && now < resource.activation_date) return 'not-active';
  if (resource.expiration_date !== null && now >= resource.expiration_date) return 'expired';
  return 'active';
}

/** The next time after `now` at which any of them changes by itself; Infinity if none will. */
export function nextChangeOf(resources: readonly Lifecycle[], now: number): number {
  let next = Number.POSITIVE_INFINITY;
  for (const { activation_date, expiration_date } of resources) {
    if (activation_date !== null && activation_date > now) next = Math.min(next, activation_date);
    if (expiration_date !== null && expiration_date > now) next = Math.min(next, expiration_date);
  }
  return next;
}
