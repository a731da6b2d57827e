/**
 * Puts the value where the rule says, and nowhere else: no text that an agent sends is searched for a place. What the
 * agent sends must leave that place free. A value that would break the message is refused.
 */
import { invalid } from '../../contract/errors.ts';
import type { Place } from '../../contract/use-rules.ts';
import type { BrokeredCall } from '../../egress/brokered-answer.ts';
import type { ParsedCall } from './judging.ts';
import type { CallRule } from './rule-records.ts';

interface Placed {
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** Forms of the value that the message holds. */
  readonly values: readonly string[];
}

export function placed(rule: CallRule, call: ParsedCall, value: string): BrokeredCall {
  const { url, headers, body, values } = placedAt(rule.place, call, value);
  return {
    method: call.method,
    url: url.href,
    headers,
    body,
    values,
    responseHeaders: rule.response_headers,
    maxResponse: rule.max_response,
    binary: rule.binary,
    response: rule.response,
    pointer: rule.store?.pointer ?? null,
    patience: rule.timeout * 1000,
  };
}

function placedAt(place: Place, call: ParsedCall, value: string): Placed {
  const { url, body } = call;
  const headers = Object.fromEntries(call.headers);
  switch (place.type) {
    case 'bearer':
      return { url, body, ...withHeader(headers, 'authorization', `Bearer ${value}`, value) };
    case 'header':
      return { url, body, ...withHeader(headers, place.name, `${place.prefix ?? ''}${value}`, value) };
    case 'basic':
      return { url, body, ...withBasic(headers, place.username, value) };
    case 'query':
      return { url: withParameter(url, place.name, value), headers, body, values: [value] };
    case 'json':
      return { url, ...withField(headers, body, place.pointer, value) };
    case 'form':
      return { url, ...withFormField(headers, body, place.field, value) };
  }
}

function withHeader(headers: Record<string, string>, name: string, text: string, value: string) {
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(text)) throw unfit();
  return { headers: { ...headers, [name]: text }, values: [value] };
}

function withBasic(headers: Record<string, string>, username: string | null, value: string) {
  const pair = username === null ? value : `${username}:${value}`;
  if (/\p{Cc}/u.test(pair) || !pair.includes(':')) throw unfit();
  const encoded = Buffer.from(pair, 'utf8').toString('base64');
  const password = pair.slice(pair.indexOf(':') + 1);
  return {
    headers: { ...headers, authorization: `Basic ${encoded}` },
    values: [...new Set([value, password, encoded])],
  };
}

function withParameter(url: URL, name: string, value: string): URL {
  const isTaken = [...url.searchParams.keys()].some(one => one.toLowerCase() === name.toLowerCase());
  if (isTaken) throw invalid('url', 'must not have the parameter that the value goes into');
  const target = new URL(url);
  target.search += `${target.search === '' ? '?' : '&'}${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  return target;
}

function withField(headers: Record<string, string>, body: Buffer | null, pointer: string, value: string) {
  const type = headers['content-type'] ?? 'application/json';
  if (!/^application\/(?:[a-z0-9.+-]+\+)?json\s*(?:;\s*charset=utf-8\s*)?$/i.test(type)) {
    throw invalid('headers', 'must have a JSON content type, because the value goes into the body');
  }
  const document = parsedObject(body);
  const names = pointer
    .slice(1)
    .split('/')
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let at = document;
  for (const name of names.slice(0, -1)) {
    const next = Object.hasOwn(at, name) ? at[name] : {};
    if (!isObject(next)) throw taken();
    Object.defineProperty(at, name, { value: next, enumerable: true, configurable: true, writable: true });
    at = next;
  }
  const last = names.at(-1)!;
  if (Object.hasOwn(at, last)) throw taken();
  Object.defineProperty(at, last, { value, enumerable: true });
  return {
    headers: { ...headers, 'content-type': type },
    body: Buffer.from(JSON.stringify(document), 'utf8'),
    values: [value],
  };
}

function parsedObject(body: Buffer | null): Record<string, unknown> {
  if (body === null) return {};
  let document: unknown;
  try {
    document = JSON.parse(body.toString('utf8'));
  } catch {
    throw invalid('body', 'must be a JSON object, because the value goes into it');
  }
  if (!isObject(document)) throw invalid('body', 'must be a JSON object, because the value goes into it');
  return document;
}

function withFormField(headers: Record<string, string>, body: Buffer | null, field: string, value: string) {
  const form = 'application/x-www-form-urlencoded';
  const type = headers['content-type'] ?? form;
  if (type.toLowerCase() !== form) throw invalid('headers', `must have the content type ${form}`);
  const fields = new URLSearchParams(body?.toString('utf8') ?? '');
  if (fields.has(field)) throw taken();
  fields.append(field, value);
  return {
    headers: { ...headers, 'content-type': form },
    body: Buffer.from(fields.toString(), 'utf8'),
    values: [value],
  };
}

/** In words, for whoever approves the call. */
export function placeInWords(place: Place): string {
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

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function taken() {
  return invalid('body', 'must leave the field free that the value goes into');
}

function unfit() {
  return invalid('secret', 'has a value that can’t be sent in this place');
}
