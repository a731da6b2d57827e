/**
 * What the reading plane and the plane of uses say to each other. One channel carries all of it, in order: a change that
 * is told before a request is heard before it.
 */
import type { UseCall } from '../contract/uses.ts';
import type { RequestFacts } from '../domain/reads/vault-request.ts';
import type { KeyCall } from '../domain/uses/key-uses.ts';
import type { CrossingFailure } from './crossing.ts';
import type { HandedData, LedgerCall, Shared } from './messages.ts';

/** What is to be done, or why that was not understood. */
export type Asked =
  | { readonly call: UseCall }
  | { readonly key: KeyCall }
  | { readonly unread: CrossingFailure };

export interface Order {
  readonly number: number;
  readonly of: 'secret' | 'key';
  readonly facts: RequestFacts;
  readonly asked: Asked;
}

/** What came of one, as far as it got. */
export interface Outcome {
  readonly number: number;
  readonly status: number;
  readonly receipt: string;
  readonly requestId: string;
  readonly answer: object | null;
  readonly failure: CrossingFailure | null;
}

export type ToUses =
  | Shared
  | { readonly kind: 'begin'; readonly handed: HandedData }
  | { readonly kind: 'orders'; readonly orders: readonly Order[] }
  | { readonly kind: 'call'; readonly call: number; readonly what: LedgerCall }
  | { readonly kind: 'stop' };

export type FromUses =
  | Shared
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[] }
  /** What could not be recorded: nothing of it may be handed out. */
  | { readonly kind: 'lost'; readonly number: number; readonly failure: CrossingFailure }
  | { readonly kind: 'settled'; readonly call: number; readonly error: string | null }
  | { readonly kind: 'report'; readonly line: string }
  /** It could not open the data: another one may. */
  | { readonly kind: 'not-begun'; readonly line: string };
