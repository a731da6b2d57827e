/** Everything that a surface of the bare server stands on, and what it was asked. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { Failure } from '../src/contract/errors.ts';
import type { AnswerEncoding, ReadResult, RequestFacts } from '../src/domain/reads/vault-request.ts';
import type { ReadingSurfaceParts } from '../src/http/surface/surface-parts.ts';
import { Meter } from '../src/metrics/meter.ts';

type Asked = Record<string, unknown> & RequestFacts;
export const log = { receipt: 'receipt', requestId: 'request' };
export const whole: ReadResult = {
  ...log,
  status: 200,
  format: 'json',
  digest: 'digest',
  body: Buffer.from('{}'),
};

export function bareWorld(result: ReadResult | Error = whole, draining = false) {
  const read: Asked[] = [];
  const refused: [facts: RequestFacts, fault: Failure][] = [];
  const errors: unknown[] = [];
  const encodings: (AnswerEncoding | undefined)[] = [];
  const given = () => (result instanceof Error ? Promise.reject(result) : Promise.resolve(result));
  const parts = {
    domain: {
      vaultReads: {
        read: (asked: Asked & { encoding?: AnswerEncoding }) => {
          read.push(asked);
          encodings.push(asked.encoding);
          return given();
        },
        refuse: (facts: RequestFacts, failure: Failure) => {
          refused.push([facts, failure]);
          return result instanceof Error ? given() : Promise.resolve({ ...log, status: 400, failure });
        },
      },
    },
    meter: new Meter(),
    newId: () => 'new',
    onError: (error: unknown) => errors.push(error),
    draining: () => draining,
    encrypted: false,
    addressOf: () => '192.0.2.1',
  } as unknown as ReadingSurfaceParts;
  return { parts, read, refused, errors, encodings };
}

export interface Sent {
  readonly method?: string;
  readonly url: string;
  readonly headers?: Record<string, string>;
  readonly socket?: object;
  readonly complete?: boolean;
}
export function requestOf({
  method = 'GET',
  url,
  headers = {},
  socket = {},
  complete = true,
}: Sent): IncomingMessage {
  const rawHeaders = Object.entries(headers).flat();
  return {
    method,
    url,
    headers,
    rawHeaders,
    socket,
    complete,
    httpVersionMinor: 1,
  } as unknown as IncomingMessage;
}

export interface BareAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly body: string;
  readonly keepsAlive: boolean;
}

/** Null where the request is left to others. */
export async function answerTo(
  handle: (request: IncomingMessage, response: ServerResponse) => boolean,
  request: IncomingMessage,
): Promise<BareAnswer | null> {
  const told: { status: number; headers: Record<string, unknown>; body: string } = {
    status: 0,
    headers: {},
    body: '',
  };
  const response = {
    req: request,
    shouldKeepAlive: true,
    statusCode: 200,
    writeHead(status: number, headers: string[] | Record<string, unknown>) {
      told.status = status;
      const pairs = Array.isArray(headers)
        ? headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1]]] : []))
        : Object.entries(headers);
      told.headers = Object.fromEntries(pairs.map(([name, value]) => [String(name).toLowerCase(), value]));
      return response;
    },
    end(body?: Buffer | string) {
      told.body = String(body ?? '');
      isEnded = true;
    },
  };
  let isEnded = false;
  if (!handle(request, response as unknown as ServerResponse)) return null;
  for (let turns = 0; turns === 0 || (turns < 100 && !isEnded); turns++) await turn();
  return { ...told, keepsAlive: response.shouldKeepAlive };
}
