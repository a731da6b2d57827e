/**
 * Permits: what the guard issues to a caller who may do something, and where that applies. Only the guard creates them.
 */
import type { Caller } from '../../access/caller.ts';
import type { Action } from '../../access/policy.ts';

/** Proof from the guard that this caller may do this. Every lookup and change requires it. */
export interface Permit<A extends Action = Action> {
  readonly [issued]: true;
  readonly caller: Caller;
  readonly action: A;
  /** The vaults it applies to; null for all of them and for the organization as a whole. */
  readonly vaults: readonly string[] | null;
}
declare const issued: unique symbol;

/** The vaults that a list covers: the requested one, or all, as far as the permit applies to them. */
export function vaultsAsked({ vaults }: Permit, asked: string | undefined): readonly string[] | undefined {
  if (asked === undefined) return vaults ?? undefined;
  return vaults === null || vaults.includes(asked) ? [asked] : [];
}

/** Checks at run time that a permit is for one of these actions, where the compiler can't. Throws if it is not. */
export function permitFor<A extends Action>(permit: Permit, ...actions: readonly A[]): Permit<A> {
  const isFor = (one: Permit): one is Permit<A> => actions.some(action => action === one.action);
  if (isFor(permit)) return permit;
  throw new Error(`a permit for ${permit.action} is none for ${actions.join(' or ')}`);
}

/** Whether a permit applies to a vault; without a vault, to the organization as a whole. */
export function covers({ vaults }: Permit, vaultId: string | undefined): boolean {
  return vaults === null || (vaultId !== undefined && vaults.includes(vaultId));
}
