/**
 * Whether a rule allows a call, and why not. Pure. A URL must be sent in the very form in which it is understood, so
 * that nothing is left for two parsers to disagree about; then its host is compared, and its path matched. What a
 * rule refuses is named by its field, and never repeated.
 */
import { Failure, invalid } from '../../contract/errors.ts';
import { isReservedHeader, type UseMethod } from '../../contract/use-rules.ts';
import type { UseCall } from '../../contract/uses.ts';
import type { CallRule } from './rule-records.ts';

export interface ParsedCall {
  readonly method: UseMethod;
  readonly url: URL;
  /** As a rule names it: the host, and before it the scheme where that is not HTTPS. */
  readonly origin: string;
  /** In lower case, in the order of their names. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer | null;
}

export interface Refusal {
  readonly field: string;
  readonly reason: string;
}

type Sent = Pick<UseCall, 'method' | 'url' | 'headers' | 'body' | 'body_base64'>;

/** What the URL must not hide: separators, dots and controls that are written as escapes, and what servers strip. */
const hiding = /%(?:2f|5c|2e|25|3b|[01][0-9a-f]|7f|c[01]|f[5-9a-f])|%(?![0-9a-f]{2})|\/\/|;|\\/i;
/** As a field of a form, of JSON or of a multipart body. */
const overridingField = /(?:^|[&"'\s])_method(?:["'=]|$)/i;
const overrides = /^(?:_method|_http_method|http_method|x-http-method(?:-override)?|x-method-override)$/i;

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
  if (hiding.test(url.pathname)) throw invalid('url', 'must have a plain path, without encoded separators');
  if ([...url.searchParams.keys()].some(name => overrides.test(name))) {
    throw invalid('url', 'must not name another method');
  }
  return url;
}

function parsedBody({ body, body_base64 }: Pick<Sent, 'body' | 'body_base64'>): Buffer | null {
  if (body !== undefined && body_base64 !== undefined)
    throw invalid('body_base64', 'can’t be combined with body');
  if (body === undefined && body_base64 === undefined) return null;
  const sent = body === undefined ? Buffer.from(body_base64!, 'base64') : Buffer.from(body, 'utf8');
  if (overridingField.test(sent.toString('latin1'))) throw invalid('body', 'must not name another method');
  return sent;
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

/** Null where the rule allows it. */
export function refusalBy(rule: CallRule, call: ParsedCall): Refusal | null {
  if (!rule.hosts.includes(call.origin))
    return { field: 'url', reason: 'is not among the hosts of the rule' };
  if (!rule.methods.includes(call.method))
    return { field: 'method', reason: 'is not among the methods of the rule' };
  if (patternFor(rule, call) === undefined) return { field: 'url', reason: 'matches no path of the rule' };
  const stray = call.headers.some(([name]) => isReservedHeader(name) || !rule.request_headers.includes(name));
  if (stray) return { field: 'headers', reason: 'contain one that the rule does not allow' };
  if ((call.body?.length ?? 0) > rule.max_request) {
    return { field: 'body', reason: `must be at most ${rule.max_request} bytes` };
  }
  return null;
}

/** The pattern that the path matches: it stands for the path in the log. */
export function patternFor({ paths }: CallRule, { url }: ParsedCall): string | undefined {
  return paths.find(pattern => matchesPath(pattern, url.pathname));
}

/**
 * `*` matches within a segment, `**` across them. In as many steps as the two are long, multiplied: no pattern and no
 * path make it take longer.
 */
export function matchesPath(pattern: string, path: string): boolean {
  let reached = new Uint8Array(path.length + 1);
  reached[0] = 1;
  for (const token of pattern.match(/\*\*|\*|[^*]/g) ?? []) {
    reached = token.startsWith('*') ? afterStar(token, path, reached) : afterCharacter(token, path, reached);
  }
  return reached[path.length] === 1;
}

/** Which places of the path can be reached, given those that could be before. */
function afterStar(star: string, path: string, before: Uint8Array) {
  const after = new Uint8Array(before.length);
  let carried = 0;
  for (let at = 0; at < before.length; at++) {
    if (before[at] === 1) carried = 1;
    after[at] = carried;
    if (star === '*' && path[at] === '/') carried = 0;
  }
  return after;
}

function afterCharacter(character: string, path: string, before: Uint8Array) {
  const after = new Uint8Array(before.length);
  for (let at = 0; at < path.length; at++) {
    if (before[at] === 1 && path[at] === character) after[at + 1] = 1;
  }
  return after;
}

export function isWrite(method: UseMethod): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

export function notAllowed(refusals: readonly Refusal[]): Failure {
  const [first] = refusals;
  const why =
    first === undefined
      ? 'there is no use rule for it'
      : refusals.length === 1
        ? `${first.field} ${first.reason}`
        : 'no use rule allows this call; a dry run says why';
  return new Failure('FORBIDDEN', { message: `Forbidden: ${why}`, because: 'no_use_rule' });
}
