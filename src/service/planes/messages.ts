/**
 * The messages between planes, by the names under which their channels carry them. Messages arrive in order: a plane
 * receives a change before any request that could depend on it. Only this order guarantees that.
 */
import type { Socket } from 'node:net';
import type { MessagePort } from 'node:worker_threads';
import type { Reader } from '../../access/caller.ts';
import type { SignedTime } from '../../base/clock.ts';
import type { LeaseCall } from '../../contract/issuers.ts';
import type { RunCall } from '../../contract/runs.ts';
import type { UseCall } from '../../contract/uses.ts';
import type { Acceptance } from '../../domain/operations/acceptance.ts';
import type { RequestFacts } from '../../domain/reads/vault-request.ts';
import type { PasswordCosts } from '../../domain/sign-in/passwords.ts';
import type { KeyCall } from '../../domain/uses/key-uses.ts';
import type { AskedOfKey } from '../../domain/uses/operation-uses.ts';
import type { AdmittedRequest } from '../../http/listener/admitted-request.ts';
import type { CertificatePair, Timeouts } from '../../http/listener/server.ts';
import type { HandedKeyring } from '../../keyring/keyring.ts';
import type { OpenedSlot } from '../../keyring/slots/slot.ts';
import type { OtherLedger } from '../../logs/ledger.ts';
import type { BroadcastPlace } from '../../threads/broadcast.ts';
import type { SentFailure } from '../../threads/failures.ts';
import type { ServeConfig } from '../settings/config.ts';

/** The head of a request, as the client sent it. */
export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly httpVersionMinor: number;
  /** The address of the peer. */
  readonly address: string;
  /** The local address and port of the connection, which are the service's own. A Unix socket has neither. */
  readonly localAddress: string | undefined;
  readonly localPort: number | undefined;
  readonly encrypted: boolean;
  /** The certificate of the peer, proven in the TLS handshake, in DER; null if it sent none. */
  readonly certificate: Uint8Array | null;
  readonly hasBody: boolean;
  /** Set on a request to the gateway. */
  readonly admitted?: AdmittedRequest;
}

export interface AnswerHead {
  readonly status: number;
  readonly rawHeaders: readonly (string | readonly string[])[];
}

/** A piece of a body: bytes with their own buffer, or text. */
export type Piece = Uint8Array | string;

/** Messages about one exchange to the plane that answers it. */
export type ToExchange =
  | { readonly kind: 'request'; readonly id: number; readonly head: RequestHead }
  | { readonly kind: 'body'; readonly id: number; readonly piece: Uint8Array }
  | { readonly kind: 'body-end'; readonly id: number }
  /** The client has received this many bytes of the answer. */
  | { readonly kind: 'taken'; readonly id: number; readonly bytes: number }
  /** The client has disconnected. */
  | { readonly kind: 'gone'; readonly id: number };

/** Messages about one exchange from that plane. */
export type FromExchange =
  /** This many bytes of the request's body were read. */
  | { readonly kind: 'read'; readonly id: number; readonly bytes: number }
  | { readonly kind: 'continue'; readonly id: number }
  /** A part of the answer: the first has a head, the last has `isLast`. */
  | {
      readonly kind: 'answer';
      readonly id: number;
      readonly head: AnswerHead | null;
      readonly piece: Piece | null;
      readonly isLast: boolean;
    }
  /** The body took too long to arrive. */
  | { readonly kind: 'late'; readonly id: number }
  /** There is no answer, or no further part of it. */
  | { readonly kind: 'cut'; readonly id: number };

/** What another plane needs to open the data that the reading plane has opened. */
export interface PlaneData {
  readonly config: ServeConfig;
  /** The port to the writer, if there is only one writer. */
  readonly writer: MessagePort | null;
  readonly keyring: HandedKeyring;
  readonly storedKeyring: Uint8Array;
  /** The slot of the root key that the reading plane has opened; null if there are none. */
  readonly slot: OpenedSlot | null;
  /** The signed time from which the clock continues. */
  readonly signed: SignedTime | null;
  readonly movedClock: SharedArrayBuffer | null;
  /** The buffer of its metrics. */
  readonly meter: SharedArrayBuffer;
  /** Where the planes publish what the others must know; null if there is only one reader, because messages suffice. */
  readonly news: BroadcastPlace | null;
}

/** The data that a reader begins with. */
export interface ReaderData extends PlaneData {
  /** Its number, counted from 1. */
  readonly number: number;
  readonly encrypted: boolean;
  /** Null if connections are not encrypted. */
  readonly certificate: CertificatePair | null;
  readonly timeouts: Timeouts | undefined;
  /** Whether memory that only the start needed is released. */
  readonly sparing: boolean;
  /** How many readers share the limits of the process. */
  readonly readers: number;
  /** Counts requests, for the main thread to compare. */
  readonly load: SharedArrayBuffer;
}

/** The data that the management plane begins with. */
export interface ManagementData extends PlaneData {
  /** The risks that the operator accepts with this start. */
  readonly accepted: readonly Acceptance[];
  readonly encrypted: boolean;
  /** Whether memory that only the start needed is released. */
  readonly sparing: boolean;
  readonly timeouts: Timeouts | undefined;
  readonly passwordCosts: PasswordCosts | undefined;
}

/** The result of beginning, or the reason why it failed: a usage error, or something found at the start. */
type Beginning<Begun> = { readonly begun: Begun } | { readonly refused: string; readonly isUsage: boolean };

/** Messages from either side: a committed change, or an address whose caller failed to authenticate. */
type SharedServices = {
  touched: (ids: readonly string[]) => void;
  failed: (address: string) => void;
};

/** The services of every other plane for the reading plane. */
export type PlaneServices<Data, Begun> = SharedServices & {
  begin: (data: Data) => Promise<Beginning<Begun>>;
  /** Finishes work in progress and ends. */
  stop: () => void;
};

/** The services of the reading plane for every other plane. */
export type ReadingServices = SharedServices & {
  report: (line: string, requestId?: string) => void;
};

/** The services of a plane's log for another plane. */
export type LedgerServices = Pick<OtherLedger, keyof OtherLedger>;

export interface Ready {
  readonly routes: readonly string[];
  readonly setupToken: string | null;
}

/** The services of the management plane for the thread that has a client's connection. */
export type ManagementExchange = { exchange: (message: ToExchange) => void };

/** The services of that thread for the plane that answers. */
export type ForExchange = {
  exchange: (message: FromExchange) => void;
};

/** The same, of a thread that is linked to the plane and must know when. */
export type ForLink = ForExchange & { linked: () => void };

export type ManagementServices = PlaneServices<ManagementData, Ready> &
  ManagementExchange & {
    drain: () => void;
    /** Serves another thread through this port, too. */
    link: (port: MessagePort) => void;
  };

export type ForManagement = ReadingServices & LedgerServices & ForExchange;

/** The requested use, or the fault in the request. */
export type UseMessage =
  | { readonly call: UseCall }
  | { readonly key: KeyCall }
  | { readonly operation: AskedOfKey }
  | { readonly lease: LeaseCall }
  | { readonly run: RunCall }
  | { readonly unread: SentFailure };

export interface UseOrder {
  readonly of: 'secret' | 'key' | 'operation' | 'lease' | 'run';
  readonly facts: RequestFacts;
  /** The access key of the request, as the reading plane identified it. Its token is not sent. */
  readonly reader: Reader;
  readonly asked: UseMessage;
}

/** The outcome of a use. If it could not be recorded, the call fails instead, and nothing of it is returned. */
export interface UseOutcome {
  readonly status: number;
  readonly receipt: string;
  readonly requestId: string;
  readonly answer: object | null;
  readonly failure: SentFailure | null;
}

/** The services of the plane of uses for the thread that has a client's connection. */
export type UsesExchange = {
  use: (order: UseOrder) => Promise<UseOutcome>;
  exchange: (message: ToExchange) => void;
};

export type UsesServices = PlaneServices<PlaneData, null> &
  LedgerServices &
  UsesExchange & {
    /** Serves another thread through this port, too. */
    link: (port: MessagePort) => void;
  };

export type ForUses = ReadingServices & ForExchange;

export type ReaderServices = PlaneServices<ReaderData, readonly string[]> &
  LedgerServices & {
    connection: (socket: Socket, id: number) => void;
    /** The certificate and key for new connections. */
    certificate: (pair: CertificatePair) => void;
    /** Lets clients of all but the busiest connection connect again, to be served by other readers. */
    shed: () => void;
    /** Resolves once no connection is open. */
    drain: () => Promise<void>;
    /** Cuts all connections. */
    cut: () => void;
  };

export type ForReaders = ReadingServices & {
  /** These connections are over. */
  closed: (ids: readonly number[]) => void;
  connect: (plane: 'management' | 'uses', port: MessagePort) => void;
};
