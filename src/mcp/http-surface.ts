/** What the tool endpoint needs from the HTTP surface that it is mounted on. */
import type { IncomingMessage } from 'node:http';
import type { Origin } from '../access/caller.ts';
import type { Failure } from '../contract/errors.ts';
import type { ReadingDomain, Uses } from '../domain/reading.ts';
import type { AddressSettings } from './addresses.ts';
import type { SignIn } from './sign-in.ts';

interface StrangersBound {
  /** Allows a body of at most `largest` bytes to be read, or refuses it unread. */
  admit(request: IncomingMessage, address: string, largest: number): void;
  /** Counts a malformed body, if `admit` allowed it. */
  garbled(request: IncomingMessage): void;
}

export interface HttpSurface {
  readonly domain: ReadingDomain & Uses;
  readonly version: string;
  /** The addresses under which this service is known. */
  readonly addresses: AddressSettings;
  /** Null if the operator did not turn it on. */
  readonly signIn: SignIn | null;
  readonly originOf: (request: IncomingMessage, requestId: string) => Origin;
  /** The token of the `Authorization` header, or null. */
  readonly tokenOf: (request: IncomingMessage) => string | null;
  /** Limits for clients without a valid credential. */
  readonly strangers: StrangersBound;
  /** Converts an error of the framework into a failure. */
  readonly failureOf: (error: unknown) => Failure;
  readonly headersOf: (failure: Failure) => Record<string, string>;
  /** Reports an internal error to the operator's log. */
  readonly onError: (error: unknown, requestId: string) => void;
}
