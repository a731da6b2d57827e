/** Traces: a span for each request, as OpenTelemetry's collectors take them, and nothing in it that is somebody's secret. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig, UsageError } from '../src/service/settings/config.ts';
import { contextOf } from '../src/tracing/context.ts';
import { tracingSettingsIn } from '../src/tracing/settings.ts';
import { eventually, type Service, startService } from './harness.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: string } }[];
  readonly status: { code?: number };
}

/** A collector that takes OTLP as its protocol says, and nothing else. */
class Collector {
  readonly spans: Span[] = [];
  readonly texts: string[] = [];
  readonly headers: unknown[] = [];
  status = 200;
  readonly #server: Server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', chunk => {
      text += chunk;
    });
    request.on('end', () => {
      if (this.status === 200) this.#take(text);
      this.headers.push([
        request.method,
        request.url,
        request.headers['content-type'],
        request.headers['x-key'],
      ]);
      response.writeHead(this.status, { 'content-type': 'application/json' }).end('{}');
    });
  });

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }

  #take(text: string): void {
    const { resourceSpans, ...rest } = JSON.parse(text);
    assert.deepEqual(rest, {});
    for (const { resource, scopeSpans, ...more } of resourceSpans) {
      assert.deepEqual(more, {});
      assert.deepEqual(resource.attributes.map(({ key }: { key: string }) => key).sort(), [
        'deployment.environment.name',
        'service.name',
        'service.version',
      ]);
      for (const { scope, spans } of scopeSpans) {
        assert.equal(scope.name, 'strongroom');
        for (const span of spans) this.spans.push(checked(span));
      }
    }
    this.texts.push(text);
  }
}

const known = new Set([
  'traceId',
  'spanId',
  'parentSpanId',
  'traceState',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'status',
]);
const told = new Set([
  'http.request.method',
  'http.route',
  'http.response.status_code',
  'url.scheme',
  'strongroom.request_id',
  'error.type',
]);

function checked(span: Span): Span {
  assert.deepEqual(
    Object.keys(span).filter(key => !known.has(key)),
    [],
  );
  assert.match(span.traceId, /^[0-9a-f]{32}$/);
  assert.match(span.spanId, /^[0-9a-f]{16}$/);
  assert.equal(span.kind, 2, 'a server’s');
  assert.match(span.startTimeUnixNano, /^\d{19}$/);
  assert.ok(BigInt(span.endTimeUnixNano) >= BigInt(span.startTimeUnixNano));
  for (const { key, value } of span.attributes) {
    assert.ok(told.has(key), key);
    assert.equal(Object.keys(value).length, 1);
    assert.ok(typeof (value.stringValue ?? value.intValue) === 'string');
  }
  return span;
}

describe('traces of a service', () => {
  const collector = new Collector();
  let service: Service;
  let path: string;
  let token: string;
  before(async () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%20b',
      OTEL_SERVICE_NAME: 'vault of tests',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_BSP_MAX_QUEUE_SIZE: '3',
    };
    service = await startService({ environment, flags: ['--metrics-port', '0'] });
    const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v' });
    path = `/api/v1/vaults/${vault.id}`;
    token = (await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'k' })).body.token;
    await service.call('POST', '/v1/secrets', {
      vault_id: vault.id,
      name: 'HIDDEN_NAME',
      value: 'hidden-value',
    });
  });
  after(async () => {
    await service.stop();
    collector.close();
  });

  const read = (headers: Record<string, string> = {}, query = '') =>
    service.call('GET', `${path}${query}`, undefined, token, headers);
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const parent = (id: string, flags: string) => ({ traceparent: `00-${id}-00f067aa0ba902b7-${flags}` });
  const spanIn = async (id: string): Promise<Span> => {
    await eventually('the span is collected', async () => collector.spans.some(span => span.traceId === id));
    return collector.spans.find(span => span.traceId === id)!;
  };

  it('a request continues the caller’s trace, and the span says how it was answered', async () => {
    const { headers } = await read({ ...parent(traceId, '01'), tracestate: 'a=1' }, '?name=HIDDEN_NAME');
    const span = await spanIn(traceId);
    assert.deepEqual(
      [span.name, span.parentSpanId, span.traceState, span.status],
      ['GET /api/v1/vaults/{vault_id}', '00f067aa0ba902b7', 'a=1', {}],
    );
    const attributes = Object.fromEntries(
      span.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]),
    );
    assert.deepEqual(attributes, {
      'http.request.method': 'GET',
      'http.route': '/api/v1/vaults/{vault_id}',
      'url.scheme': 'http',
      'http.response.status_code': '200',
      'strongroom.request_id': headers.get('x-request-id'),
    });
    assert.deepEqual(collector.headers[0], ['POST', '/v1/traces', 'application/json', 'a b']);
  });

  it('so does one that the management plane answers; one that nobody traces begins its own, or is left out', async () => {
    const other = 'a'.repeat(32);
    const { headers } = await service.call(
      'GET',
      '/v1/secrets?q=HIDDEN_NAME',
      undefined,
      undefined,
      parent(other, '01'),
    );
    const span = await spanIn(other);
    assert.equal(span.name, 'GET /v1/secrets');
    assert.ok(JSON.stringify(span).includes(headers.get('x-request-id')!));
    const before = collector.spans.length;
    await read(parent('b'.repeat(32), '00'));
    await read({ traceparent: 'nonsense' });
    await eventually('another span is collected', async () => collector.spans.length > before);
    assert.ok(!collector.spans.some(one => one.traceId === 'b'.repeat(32)));
    assert.equal(collector.spans.at(-1)!.parentSpanId, undefined);
  });

  it('no name, id, token or value is in what is sent', async () => {
    const vault = path.split('/').at(-1)!;
    const dialect = await service.call('GET', '/vault/v1/secret/data/HIDDEN_NAME', undefined, null, {
      ...parent('c'.repeat(32), '01'),
      'x-vault-token': token,
    });
    assert.ok(dialect.status < 500);
    assert.equal((await spanIn('c'.repeat(32))).name, 'GET /vault/v1/{path}');
    const all = collector.texts.join('');
    for (const secret of [vault, token, 'HIDDEN_NAME', 'hidden-value', service.key])
      assert.ok(!all.includes(secret), 'it is in a span');
  });

  it('while the collector is away, few wait, the rest is dropped and counted, and everybody is answered', async () => {
    collector.status = 503;
    const counted = async (result: string) => {
      const text = await (await fetch(`${service.metricsUrl}`)).text();
      return Number(
        new RegExp(`^strongroom_spans_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(text)![1],
      );
    };
    assert.ok((await counted('sent')) > 3);
    await eventually('spans are dropped', async () => {
      assert.equal((await read()).status, 200);
      return (await counted('dropped')) > 0;
    });
    await eventually('the operator is told that traces can’t be sent', async () =>
      service.reports.some(line => /^traces can’t be sent: the collector/.test(line)),
    );
    collector.status = 200;
    const last = 'd'.repeat(32);
    await eventually('spans are collected again', async () => {
      await read(parent(last, '01'));
      return collector.spans.some(span => span.traceId === last);
    });
  });
});

describe('the variables of OpenTelemetry', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };

  it('switch traces on by an endpoint, and off', () => {
    assert.equal(tracingSettingsIn({}), null);
    assert.equal(tracingSettingsIn({ OTEL_SERVICE_NAME: 'x' }), null);
    assert.equal(tracingSettingsIn({ ...endpoint, OTEL_SDK_DISABLED: 'true' }), null);
    assert.equal(tracingSettingsIn({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }), null);
    assert.equal(tracingSettingsIn(endpoint)?.url, 'http://127.0.0.1:4318/v1/traces');
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example.com/in' };
    assert.equal(tracingSettingsIn({ ...endpoint, ...own })?.url, 'https://c.example.com/in');
    assert.deepEqual(tracingSettingsIn(endpoint)?.resource, { 'service.name': 'strongroom' });
  });

  it('what can’t be done stops the start with one line that names the variable, and repeats no value', () => {
    const bad = [
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://secret' },
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      { ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin' },
      { ...endpoint, OTEL_EXPORTER_OTLP_HEADERS: 'secret' },
      { ...endpoint, OTEL_TRACES_SAMPLER: 'sometimes' },
      { ...endpoint, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      { ...endpoint, OTEL_BSP_MAX_QUEUE_SIZE: '-1' },
    ];
    for (const environment of bad) {
      const read = () => readConfig(serveOptions, [], environment);
      assert.throws(read, (error: Error) => error instanceof UsageError && /^OTEL_/.test(error.message));
      assert.throws(read, (error: Error) => !error.message.includes('secret'));
    }
  });

  it('samplers decide by the trace’s id, alike everywhere, or as the caller did', () => {
    const sampler = (name: string, argument?: string) =>
      tracingSettingsIn({
        ...endpoint,
        OTEL_TRACES_SAMPLER: name,
        ...(argument === undefined ? {} : { OTEL_TRACES_SAMPLER_ARG: argument }),
      })!.sampler;
    const called = (flags: string, id = 'a'.repeat(32)) => ({
      traceparent: `00-${id}-${'b'.repeat(16)}-${flags}`,
    });
    const low = `${'a'.repeat(18)}${'0'.repeat(13)}1`;
    assert.ok(contextOf({}, sampler('always_on')) !== null);
    assert.equal(contextOf(called('01'), sampler('always_off')), null);
    assert.ok(contextOf(called('01'), sampler('parentbased_always_off')) !== null);
    assert.equal(contextOf(called('00'), sampler('parentbased_always_on')), null);
    assert.ok(contextOf(called('00'), sampler('always_on')) !== null);
    assert.ok(contextOf(called('00', low), sampler('traceidratio', '0.1')) !== null);
    assert.equal(contextOf(called('01', 'f'.repeat(32)), sampler('traceidratio', '0.9')), null);
    let traced = 0;
    for (let count = 0; count < 2_000; count++)
      if (contextOf({}, sampler('parentbased_traceidratio', '0.25')) !== null) traced++;
    assert.ok(traced > 300 && traced < 700, String(traced));
    for (const traceparent of [
      '',
      `ff-${called('01').traceparent.slice(3)}`,
      `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`,
    ])
      assert.equal(contextOf({ traceparent }, sampler('always_on'))!.parentId, null);
  });
});
