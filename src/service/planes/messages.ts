/**
 * What the planes do for each other, by the names under which their channels carry it. Everything arrives in order: a
 * plane hears of a change before it hears of any request that could depend on it, and that rests on nothing else.
 */
import type { MessagePort } from 'node:worker_threads';
import type { SignedTime } from '../../base/clock.ts';
import type { UseCall } from '../../contract/uses.ts';
import type { Acceptance } from '../../domain/operations/acceptance.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import type { PasswordCosts } from '../../domain/sign-in/passwords.ts';
import type { KeyCall } from '../../domain/uses/key-uses.ts';
import type { Timeouts } from '../../http/listener/server.ts';
import type { HandedKeyring } from '../../keyring/keyring.ts';
import type { SentFailure } from '../../threads/failures.ts';
import type { ServeConfig } from '../settings/config.ts';

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
export interface PlaneData {
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
export interface ManagementData extends PlaneData {
  /** What the operator takes upon themselves with this start. */
  readonly accepted: readonly Acceptance[];
  readonly encrypted: boolean;
  /** Whether memory that only the start needed is given back. */
  readonly sparing: boolean;
  readonly timeouts: Timeouts | undefined;
  readonly passwordCosts: PasswordCosts | undefined;
}

/** That it began, or why it can't: because of how the service was started, or of what was found. */
export type Beginning<Begun> =
  | { readonly begun: Begun }
  | { readonly refused: string; readonly isUsage: boolean };

/** From either side: a change that it committed, or an address whose caller failed to prove who they are. */
export type SharedServices = {
  touched: (ids: readonly string[]) => void;
  failed: (address: string) => void;
};

/** What every other plane does for the reading plane. */
export type PlaneServices<Data, Begun> = SharedServices & {
  begin: (data: Data) => Promise<Beginning<Begun>>;
  /** Finishes what it does, and ends. */
  stop: () => void;
};

/** What the reading plane does for every other plane. */
export type ReadingServices = SharedServices & {
  report: (line: string, requestId?: string) => void;
};

/** What a plane's log is asked for by another. */
export type LedgerServices = {
  settle: () => Promise<void>;
  writeHourCounts: () => Promise<void>;
};

export interface Ready {
  readonly routes: readonly string[];
  readonly setupToken: string | null;
}

export type ManagementServices = PlaneServices<ManagementData, Ready> & {
  exchange: (message: ToExchange) => void;
  drain: () => void;
};

export type ForManagement = ReadingServices &
  LedgerServices & {
    exchange: (message: FromExchange) => void;
  };

/** What is to be done, or why that was not understood. */
export type UseMessage =
  | { readonly call: UseCall }
  | { readonly key: KeyCall }
  | { readonly unread: SentFailure };

export interface UseOrder {
  readonly of: 'secret' | 'key';
  readonly facts: RequestFacts;
  readonly asked: UseMessage;
}

/** What came of one. What could not be recorded fails instead: nothing of it may be handed out. */
export interface UseOutcome {
  readonly status: number;
  readonly receipt: string;
  readonly requestId: string;
  readonly answer: object | null;
  readonly failure: SentFailure | null;
}

export type UsesServices = PlaneServices<PlaneData, null> &
  LedgerServices & {
    use: (order: UseOrder) => Promise<UseOutcome>;
  };
