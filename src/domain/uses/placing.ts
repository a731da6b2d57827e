/**
 * Puts the value where the rule says and nowhere else: text from an agent is never searched for a place. The agent
 * must leave that place free, and everything it sends stays unchanged, byte for byte: nothing is parsed and
 * serialized again. The message shown for approval is the same, with a placeholder for the value. A value that would
 * break the message is refused.
 */
import { invalid } from '../../contract/errors.ts';
import type { Placement } from '../../contract/use-rules.ts';
import { insertedInto, taken } from './json-insertion.ts';
import type { ParsedCall } from './judging.ts';

/** A call with its value in place, or with a placeholder for a person to approve. */
interface PlacedCall {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
}

/** Stands for the value where the call is shown. */
const placeholder = '[value]';

export function placed(place: Placement, call: ParsedCall, value: string): PlacedCall {
  return placedAt(place, call, sent(value));
}

/** Exactly the message that `placed` creates, except for the value. */
export function shownPlaced(place: Placement, call: ParsedCall): PlacedCall {
  return placedAt(place, call, shown);
}

/** The text that must not come back: of a user name and password, the password. */
export function secretOf(place: Placement, value: string): string {
  return place.type === 'basic' && place.username === null ? value.slice(value.indexOf(':') + 1) : value;
}

/** How the value is written in each kind of place. */
interface Writing {
  inHeader(prefix: string): string;
  inPair(username: string | null): string;
  inUrl(): string;
  inJson(): string;
  inForm(): string;
}

function sent(value: string): Writing {
  return {
    inHeader: prefix => {
      const text = `${prefix}${value}`;
      if (!/^[!-~](?:[ -~]*[!-~])?$/.test(text)) throw unfit();
      return text;
    },
    inPair: username => {
      const pair = username === null ? value : `${username}:${value}`;
      if (/\p{Cc}/u.test(pair) || !pair.includes(':')) throw unfit();
      return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
    },
    inUrl: () => encodeURIComponent(value),
    inJson: () => JSON.stringify(value),
    inForm: () => new URLSearchParams({ '': value }).toString().slice(1),
  };
}

const shown: Writing = {
  inHeader: prefix => `${prefix}${placeholder}`,
  inPair: username => `Basic ${username === null ? '' : `${username}:`}${placeholder}, in base64`,
  inUrl: () => placeholder,
  inJson: () => JSON.stringify(placeholder),
  inForm: () => placeholder,
};

function placedAt(place: Placement, call: ParsedCall, value: Writing): PlacedCall {
  const { body } = call;
  const url = call.url.href;
  const headers = Object.fromEntries(call.headers);
  switch (place.type) {
    case 'bearer':
      return { url, body, headers: { ...headers, authorization: value.inHeader('Bearer ') } };
    case 'header':
      return { url, body, headers: { ...headers, [place.name]: value.inHeader(place.prefix ?? '') } };
    case 'basic':
      return { url, body, headers: { ...headers, authorization: value.inPair(place.username) } };
    case 'query':
      return { url: withParameter(call.url, place.name, value.inUrl()), headers, body };
    case 'json':
      return { url, ...withField(headers, body, place.pointer, value.inJson()) };
    case 'form':
      return { url, ...withFormField(headers, body, place.field, value.inForm()) };
  }
}

function withParameter(url: URL, name: string, written: string): string {
  if (isNamed(url.search, name)) throw invalid('url', 'must not have the parameter that the value goes into');
  return `${url.href}${url.search === '' ? '?' : '&'}${encodeURIComponent(name)}=${written}`;
}

function withField(headers: Record<string, string>, body: Buffer | null, pointer: string, written: string) {
  const type = headers['content-type'] ?? 'application/json';
  if (!/^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) {
    throw invalid('headers', 'must have a JSON content type, because the value goes into the body');
  }
  const names = pointer
    .slice(1)
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const text = insertedInto(body, names, written);
  return { headers: { ...headers, 'content-type': type }, body: Buffer.from(text, 'utf8') };
}

function withFormField(headers: Record<string, string>, body: Buffer | null, field: string, written: string) {
  const form = 'application/x-www-form-urlencoded';
  const type = headers['content-type'] ?? form;
  if (type.toLowerCase() !== form) throw invalid('headers', `must have the content type ${form}`);
  const fields = body?.toString('latin1') ?? '';
  if (!/^[!-~]*$/.test(fields)) throw invalid('body', 'must be a form: ASCII characters without spaces');
  if (isNamed(fields, field)) throw taken();
  const text = `${fields}${fields === '' ? '' : '&'}${encodeURIComponent(field)}=${written}`;
  return { headers: { ...headers, 'content-type': form }, body: Buffer.from(text, 'latin1') };
}

/** Whether a query or form has a name already, also for servers that separate fields with semicolons. */
function isNamed(fields: string, name: string): boolean {
  const named = (text: string) => [...new URLSearchParams(text).keys()];
  const names = [...named(fields), ...named(fields.replaceAll(';', '&'))];
  return names.some(one => one.trim().toLowerCase() === name.toLowerCase());
}

/** The place in words, for the person who approves the call. */
export function placeInWords(place: Placement): string {
  switch (place.type) {
    case 'bearer':
      return 'in the Authorization header, as a bearer token';
    case 'header':
      return `in the header ${place.name}`;
    case 'basic':
      return 'in the Authorization header, as a user name and password';
    case 'query':
      return `in the query parameter ${place.name}`;
    case 'json':
      return `in the JSON field ${place.pointer}`;
    case 'form':
      return `in the form field ${place.field}`;
  }
}

function unfit() {
  return invalid('secret', 'has a value that can’t be sent in this place');
}
