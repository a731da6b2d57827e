/**
 * Decides whether a rule allows a call, and why not. Pure functions. A URL must be sent in exactly the form in which
 * it is parsed, so that no two parsers can disagree about it; then its host is compared and its path matched. A
 * refusal names the field and never repeats its content.
 */
import { Failure, invalid } from '../../contract/errors.ts';
import type { UseMethod } from '../../contract/use-names.ts';
import { isReservedHeader } from '../../contract/use-rules.ts';
import type { UseCall } from '../../contract/uses.ts';
import type { CallRule } from './rule-records.ts';

export interface ParsedCall {
  readonly method: UseMethod;
  readonly url: URL;
  /** As a rule names it: the host, preceded by the scheme if that is not HTTPS. */
  readonly origin: string;
  /** Names in lower case, sorted by name. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
}

export interface UseRefusal {
  readonly field: string;
  readonly reason: string;
}

type Sent = Pick<UseCall, 'method' | 'url' | 'headers' | 'body' | 'body_base64'> & {
  /** A body that arrived as it is. */
  readonly bytes?: Buffer | undefined;
};

const longestPath = 1024;
/** What a path must not hide: escaped separators, dots and control characters, and characters that servers strip. */
const hiding = /%(?:2f|5c|2e|25|3b|[01][0-9a-f]|7f)|%(?![0-9a-f]{2})|\/\/|;|\\/i;
/** Some servers read a dot or bracket at the start of a parameter's name as an underscore, and skip spaces. */
const overrides = /^\s*(?:[_.[]method|_?http[_.]method|x-http-method(?:-override)?|x-method-override)$/i;
/** As a field of a form, JSON or multipart body, after unescaping. */
const overridingField =
  /(?:^|[&;"'\s])(?:_method|x-http-method(?:-override)?|x-method-override)(?:["'=]|$)|(?:^|[&;])\s*[.[]method(?:=|$)|\bname\*?=[^\r\n]{0,64}(?:[_.[]method|x-http-method(?:-override)?|x-method-override)(?:[\s;"']|$)/i;
/** A parameter that many APIs have. Some servers take it for the HTTP method if it names one. */
const verb = /^\s*(?:post|put|patch|delete)\s*$/i;
const verbField =
  /(?:^|[&;])\s*method=\s*(?:post|put|patch|delete)\s*(?:[&;]|$)|\bname="?method"?\s*\r?\n\r?\n\s*(?:post|put|patch|delete)\b/i;

export function parsedCall({ method = 'GET', url: text, headers = {}, ...sent }: Sent): ParsedCall {
  const url = parsedUrl(text);
  const body = parsedBody(sent);
  if (body !== null && !isWrite(method)) throw invalid('body', 'can’t be sent with GET or HEAD');
  const origin = url.protocol === 'http:' ? `http://${url.host}` : url.host;
  return { method, url, origin, headers: parsedHeaders(headers), body };
}

function parsedUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw invalid('url', 'must be an absolute URL that begins with https://');
  }
  if (url.href !== text) throw invalid('url', 'must be written in its normal form');
  if (url.username !== '' || url.password !== '')
    throw invalid('url', 'must not contain a user name or a password');
  if (text.includes('#')) throw invalid('url', 'must not contain a fragment');
  if (text.endsWith('?')) throw invalid('url', 'must not have an empty query');
  if (url.pathname.length > longestPath)
    throw invalid('url', `must have a path of at most ${longestPath} characters`);
  if (hiding.test(url.pathname)) throw invalid('url', 'must have a plain path, without encoded separators');
  if (!isDecodable(url.pathname)) throw invalid('url', 'must have a path in UTF-8');
  const isOverridden = ([name, value]: readonly [string, string]) =>
    overrides.test(name) || (/^\s*method$/i.test(name) && verb.test(value));
  if ([...url.searchParams].some(isOverridden)) throw invalid('url', 'must not override the HTTP method');
  return url;
}

function parsedBody({
  body,
  body_base64,
  bytes,
}: Pick<Sent, 'body' | 'body_base64' | 'bytes'>): Buffer | null {
  if (body !== undefined && body_base64 !== undefined)
    throw invalid('body_base64', 'can’t be combined with body');
  const sent = bytes ?? (body === undefined ? fromBase64(body_base64) : Buffer.from(body, 'utf8'));
  if (sent === null) return null;
  const text = unescaped(sent);
  if (overridingField.test(text) || verbField.test(text)) {
    throw invalid('body', 'must not override the HTTP method');
  }
  return sent;
}

function fromBase64(text: string | undefined): Buffer | null {
  return text === undefined ? null : Buffer.from(text, 'base64');
}

/** False for overlong encodings too, because some servers decode them to separators. */
function isDecodable(path: string): boolean {
  try {
    return decodeURIComponent(path) !== '';
  } catch {
    return false;
  }
}

/** Decodes what forms write as `%5F` or `+`, and JSON as `\u005f`. */
function unescaped(body: Buffer): string {
  return body
    .toString('latin1')
    .replaceAll('+', ' ')
    .replace(/(?:%|\\u00)([0-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
}

function parsedHeaders(sent: Readonly<Record<string, string>>): [string, string][] {
  const headers = Object.entries(sent).map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  if (new Set(headers.map(([name]) => name)).size < headers.length)
    throw invalid('headers', 'must be given once each');
  for (const [name, value] of headers) {
    if (!/^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw invalid('headers', 'must have valid names');
    if (!/^[\t -~]*$/.test(value)) throw invalid('headers', 'must have values of ASCII characters');
  }
  return headers.sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Null if the rule allows the call. */
export function refusalBy(rule: CallRule, call: ParsedCall): UseRefusal | null {
  if (!rule.hosts.includes(call.origin))
    return { field: 'url', reason: 'is not among the hosts of the rule' };
  if (!rule.methods.includes(call.method))
    return { field: 'method', reason: 'is not among the methods of the rule' };
  if (patternFor(rule, call) === undefined) return { field: 'url', reason: 'matches no path of the rule' };
  const stray = call.headers.some(([name]) => isReservedHeader(name) || !rule.request_headers.includes(name));
  if (stray) return { field: 'headers', reason: 'contain one that the rule does not allow' };
  if (call.body !== null && call.body.length > rule.max_request) {
    return { field: 'body', reason: `must be at most ${rule.max_request} bytes` };
  }
  return null;
}

/** The pattern that the path matches; the log shows it in place of the path. */
export function patternFor({ paths }: CallRule, { url }: ParsedCall): string | undefined {
  return paths.find(pattern => matchesPath(pattern, url.pathname));
}

/** `*` matches within a segment, `**` across segments. Linear in the length of the path for each star. */
export function matchesPath(pattern: string, path: string): boolean {
  const [head, ...rest] = pattern.split(/(\*\*?)/) as [string, ...string[]];
  if (!path.startsWith(head)) return false;
  let reached: readonly number[] = [head.length];
  for (let at = 0; at < rest.length; at += 2) reached = afterStar(rest[at]!, rest[at + 1]!, path, reached);
  return reached.at(-1) === path.length;
}

/** The positions in the path that a star and the text after it can reach from the given positions. */
function afterStar(star: string, text: string, path: string, before: readonly number[]): number[] {
  const after: number[] = [];
  let next = 0;
  for (let at = before[0]!; at <= path.length; at++) {
    if (before[next] === at) next++;
    if (text === '' || (path[at] === text[0] && path.startsWith(text, at))) after.push(at + text.length);
    if (star === '**' || path[at] !== '/') continue;
    // The star ends here; the next position starts over.
    if (next === before.length) break;
    at = before[next]! - 1;
  }
  return after;
}

export function isWrite(method: UseMethod): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

export function notAllowed(refusals: readonly UseRefusal[]): Failure {
  const [first] = refusals;
  const why =
    first === undefined
      ? 'there is no use rule for it'
      : refusals.length === 1
        ? `${first.field} ${first.reason}`
        : 'no use rule allows this call; a dry run says why';
  return new Failure('FORBIDDEN', { message: `Forbidden: ${why}`, because: 'no_use_rule' });
}
