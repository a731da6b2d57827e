/**
 * Records a span for each traced request: its method and route, its status and its duration. Spans contain no names of
 * vaults, resources or people, no addresses, no part of the path beyond the route, and nothing from the query or the
 * body.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Meter } from '../metrics/meter.ts';
import { contextOf, type TraceContext } from './context.ts';
import { type Attribute, numberOf, type Span, SpanExporter, textOf } from './exporter.ts';
import type { TracingSettings } from './settings.ts';

interface TracingParts {
  readonly settings: TracingSettings;
  readonly version: string;
  readonly meter: Meter;
  readonly report: (line: string) => void;
}

const server = 2;
const error = 2;
const methods = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT)$/;

export function startTracing({ settings, version, meter, report }: TracingParts) {
  const exporter = new SpanExporter({
    settings,
    version,
    report,
    sent: meter.counter('strongroom_spans_total', { result: 'sent' }),
    dropped: meter.counter('strongroom_spans_total', { result: 'dropped' }),
  });
  const trace = (context: TraceContext, request: IncomingMessage, response: ServerResponse) => {
    const started = nanoseconds();
    const requestId = requestIdIn(response);
    response.once('close', () => {
      exporter.add(spanOf(context, request, response, started, requestId()));
    });
  };
  return {
    /** Returns the same listener, with a span recorded for each traced request. */
    around(listen: RequestListener): RequestListener {
      return (request, response) => {
        const context = contextOf(request.headers, settings.sampler);
        if (context !== null) trace(context, request, response);
        listen(request, response);
      };
    },
    stop: () => exporter.stop(),
  };
}

function spanOf(
  { traceId, spanId, parentId, state }: TraceContext,
  request: IncomingMessage,
  response: ServerResponse,
  started: bigint,
  requestId: string | null,
): Span {
  const method = methods.test(request.method!) ? request.method! : '_OTHER';
  const route = routeOf(request.url!);
  // Null if the client disconnected before it was answered.
  const status = response.headersSent ? response.statusCode : null;
  const attributes: Attribute[] = [
    textOf('http.request.method', method),
    textOf('http.route', route),
    textOf('url.scheme', 'encrypted' in request.socket ? 'https' : 'http'),
  ];
  if (status !== null) attributes.push(numberOf('http.response.status_code', status));
  if (requestId !== null) attributes.push(textOf('strongroom.request_id', requestId));
  const isError = status !== null && status >= 500;
  if (isError) attributes.push(textOf('error.type', String(status)));
  return {
    traceId,
    spanId,
    ...(parentId === null ? {} : { parentSpanId: parentId }),
    ...(state === null ? {} : { traceState: state }),
    name: `${method} ${route}`,
    kind: server,
    startTimeUnixNano: String(started),
    endTimeUnixNano: String(nanoseconds()),
    attributes,
    status: isError ? { code: error } : {},
  };
}

/** Fixed texts: parts of a path that are ids or names are replaced by placeholders. */
const routes: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/v1\/vaults\b/, '/api/v1/vaults/{vault_id}'],
  [/^\/api\/v1\/login\b/, '/api/v1/login'],
  [/^\/vault\/v1\//, '/vault/v1/{path}'],
  [/^\/auth\//, '/auth/{step}'],
  [/^\/(?:mcp|livez|readyz)\/?$/, ''],
];
const collection = /^\/v1\/([a-z][a-z-]{2,30})(\/|$)/;

function routeOf(url: string): string {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  const [, known] = routes.find(([shape]) => shape.test(path)) ?? [];
  if (known !== undefined) return known === '' ? path.replace(/\/$/, '') : known;
  const [, name, more] = collection.exec(path) ?? [];
  if (name === undefined) return '/{page}';
  return more === '' ? `/v1/${name}` : `/v1/${name}/{id}`;
}

/** Every answer has a request id. If the head is written directly, the id is only in its arguments. */
function requestIdIn(response: ServerResponse): () => string | null {
  let found: string | null = null;
  const writeHead = response.writeHead;
  response.writeHead = function (this: ServerResponse, ...given: unknown[]) {
    const headers = given.at(-1);
    if (Array.isArray(headers)) found = after(headers);
    else if (typeof headers === 'object')
      found = String((headers as Record<string, unknown>)['X-Request-Id'] ?? '');
    return (writeHead as (...all: unknown[]) => ServerResponse).apply(this, given);
  } as typeof writeHead;
  return () => found || (response.getHeader('x-request-id') as string | undefined) || null;
}

function after(headers: readonly unknown[]): string | null {
  const at = headers.findIndex((name, index) => index % 2 === 0 && /^x-request-id$/i.test(String(name)));
  return at < 0 ? null : String(headers[at + 1]);
}

function nanoseconds(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1e6));
}
