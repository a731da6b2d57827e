/** The management plane's surface without a listener, over a double of the domain, and what it was told. */
import type { FastifyInstance } from 'fastify';
import { UnauthenticatedBodies } from '../src/http/listener/unauthenticated-bodies.ts';
import { surfaceWith } from '../src/http/surface/surface.ts';
import type { AppParts } from '../src/http/surface/surface-parts.ts';
import { Meter } from '../src/metrics/meter.ts';

export const appTime = Date.parse('2026-01-01T00:00:00.000Z');

/** Notes which bodies of strangers were admitted, and which were malformed. */
export class NotedStrangers extends UnauthenticatedBodies {
  readonly admitted: [address: string, largest: number][] = [];
  malformed = 0;

  constructor() {
    super({ now: () => appTime, patience: 1, onLate: () => {} });
  }

  override admit(...[request, address, largest]: Parameters<UnauthenticatedBodies['admit']>): void {
    this.admitted.push([address, largest]);
    super.admit(request, address, largest);
  }

  override garbled(...given: Parameters<UnauthenticatedBodies['garbled']>): void {
    this.malformed++;
    super.garbled(...given);
  }
}

export interface AppAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

type Mount = (app: FastifyInstance, parts: AppParts, strangers: UnauthenticatedBodies) => void;

export function bareApp(domain: object, mount: Mount, more: object = {}) {
  const errors: unknown[] = [];
  const strangers = new NotedStrangers();
  const parts = {
    domain,
    now: () => appTime,
    newId: () => 'new',
    meter: new Meter(),
    addressOf: () => '192.0.2.1',
    encrypted: false,
    version: '1.2.3',
    draining: () => false,
    onError: (error: unknown) => errors.push(error),
    countRequests: async () => 1,
    siteOf: () => ({ origin: 'http://localhost:8080', host: 'localhost' }),
    singleSignOn: null,
    oauth: null,
    ...more,
  } as unknown as AppParts;
  const app = surfaceWith(parts, strangers);
  mount(app, parts, strangers);
  const send = async (
    method: string,
    url: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<AppAnswer> => {
    const isText = typeof body === 'string' || Buffer.isBuffer(body);
    const answer = await app.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(body === undefined || isText ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: isText ? body : JSON.stringify(body) }),
    });
    const isJson = String(answer.headers['content-type']).startsWith('application/json');
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.body,
      body: isJson && answer.body !== '' ? JSON.parse(answer.body) : answer.body,
    };
  };
  return { app, send, errors, strangers };
}
