/** What the tool endpoint is handed by the HTTP surface that it is mounted on. */
import type { IncomingMessage } from 'node:http';
import type { Origin } from '../access/caller.ts';
import type { Failure } from '../contract/errors.ts';
import type { Domain } from '../vault/domain.ts';
import type { AddressSettings } from './addresses.ts';

export interface Surface {
  readonly domain: Domain;
  readonly version: string;
  /** Under which addresses this service is known. */
  readonly addresses: AddressSettings;
  readonly originOf: (request: IncomingMessage, requestId: string) => Origin;
  /** The token of the `Authorization` header, or null. */
  readonly tokenOf: (request: IncomingMessage) => string | null;
  /** What an error of the framework means. */
  readonly failureOf: (error: unknown) => Failure;
  readonly headersOf: (failure: Failure) => Record<string, string>;
  /** For the operator's eyes: what went wrong inside. */
  readonly onError: (error: unknown, requestId: string) => void;
}
