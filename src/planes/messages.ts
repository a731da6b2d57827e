/**
 * What the two planes say to each other. One channel carries all of it, in order: that a change is heard on the other
 * plane before anybody learns of it there rests on nothing else.
 */
import type { MessagePort } from 'node:worker_threads';
import type { SignedTime } from '../clock.ts';
import type { ServeConfig } from '../config.ts';
import type { PasswordCosts } from '../domain/accounts/passwords.ts';
import type { Acceptance } from '../domain/operations/acceptance.ts';
import type { Timeouts } from '../http/server.ts';
import type { HandedKeyring } from '../keyring/keyring.ts';

/** Of a request, as it came from the client. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly httpVersionMinor: number;
  /** Of the peer. */
  readonly address: string;
  /** Where the connection was accepted: what this service can be addressed by. A Unix socket has neither. */
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly encrypted: boolean;
  /** That the peer proved to hold in the TLS handshake, in DER; null where it showed none. */
  readonly certificate: Uint8Array | null;
  readonly hasBody: boolean;
}

export interface AnswerHead {
  readonly status: number;
  readonly rawHeaders: readonly (string | readonly string[])[];
}

/** A piece of a body: its own bytes, or text. */
export type Piece = Uint8Array | string;

/** From either plane: a change that it committed, or an address whose caller failed to prove who they are. */
export type Shared =
  | { readonly kind: 'touched'; readonly ids: readonly string[] }
  | { readonly kind: 'failed'; readonly address: string };

/** About one exchange, to the management plane. */
export type ToExchange =
  | { readonly kind: 'request'; readonly id: number; readonly head: RequestHead }
  | { readonly kind: 'body'; readonly id: number; readonly piece: Uint8Array }
  | { readonly kind: 'body-end'; readonly id: number }
  /** The client took so many bytes of the answer. */
  | { readonly kind: 'taken'; readonly id: number; readonly bytes: number }
  /** The client is gone. */
  | { readonly kind: 'gone'; readonly id: number };

/** About one exchange, from the management plane. */
export type FromExchange =
  /** So many bytes of the request's body were read. */
  | { readonly kind: 'read'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'continue'; readonly id: number }
  /** A part of the answer: the first has a head, the last says so. */
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly head: AnswerHead | null;
      readonly piece: Piece | null;
      readonly isLast: boolean;
    }
  /** The body took too long to arrive. */
  | { readonly kind: 'late'; readonly id: number }
  /** There is no answer, or no more of it. */
  | { readonly kind: 'cut'; readonly id: number };

/** What another plane opens the data with that the reading plane opened. */
export interface HandedData {
  readonly config: ServeConfig;
  /** Its way to the one that writes, where there is only one. */
  readonly writer: MessagePort | null;
  readonly keyring: HandedKeyring;
  readonly storedKeyring: Uint8Array;
  /** Where time begins. */
  readonly signed: SignedTime | null;
  readonly movedClock: SharedArrayBuffer | null;
  /** Where it counts. */
  readonly meter: SharedArrayBuffer;
}

/** What the management plane begins with. */
export interface Handed extends HandedData {
  /** What the operator takes upon themselves with this start. */
  readonly accepted: readonly Acceptance[];
  readonly encrypted: boolean;
  /** Whether memory that only the start needed is given back. */
  readonly sparing: boolean;
  readonly timeouts: Timeouts | undefined;
  readonly passwordCosts: PasswordCosts | undefined;
}

export type ToManagement =
  | Shared
  | ToExchange
  | { readonly kind: 'begin'; readonly handed: Handed }
  | { readonly kind: 'settled'; readonly call: number; readonly error: string | null }
  | { readonly kind: 'drain' }
  | { readonly kind: 'stop' };

/** What the reading plane's ledger is asked for. */
export type LedgerCall = 'settle' | 'writeHourCounts';

export type FromManagement =
  | Shared
  | FromExchange
  | { readonly kind: 'call'; readonly call: number; readonly what: LedgerCall }
  | { readonly kind: 'report'; readonly line: string; readonly requestId: string | undefined }
  | { readonly kind: 'ready'; readonly routes: readonly string[]; readonly setupToken: string | null }
  /** It can't begin, because of how the service was started or of what was found. */
  | { readonly kind: 'refused'; readonly line: string; readonly isUsage: boolean };
