/** The interface of all formats: an event, and where it goes, become a request. Pure. */
import type { EventPayload, Told } from './told.ts';

export interface Message {
  /** The same in every attempt. */
  readonly id: string;
  readonly url: string;
  /** The payload as it was stored. */
  readonly payload: string;
  readonly event: EventPayload;
  readonly told: Told;
}

export interface FormattedRequest {
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly body: string;
  /** Besides those of every message. */
  readonly headers: Readonly<Record<string, string>>;
}

export type Format = (message: Message) => FormattedRequest;

export function posted(url: string, body: object): FormattedRequest {
  return { method: 'POST', url, body: JSON.stringify(body), headers: {} };
}

const shortened = '…';

/** Cuts a text to the length that a service accepts. */
export function atMost(length: number, text: string): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}${shortened}`;
}
