/**
 * Answers input that never became a request: broken syntax, an unknown method, oversized headers, or a sender that was
 * too slow. The connection is then closed, because the start of the next request is unknown. Input that was
 * recognizably meant for the vault endpoint is recorded first, like every request there.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Failure, invalid, statusOf } from '../contract/errors.ts';
import { contentType, errorsOf } from './dialect/forms.ts';
import { isDialect, routeOf, targetOf } from './dialect/target.ts';
import { errorBody, failureHeaders, messageBody } from './listener/errors.ts';
import { securityHeaders } from './listener/security-headers.ts';
import type { AnswerClientError, ConnectionError } from './listener/server.ts';
import type { ReadingSurfaceParts } from './surface/surface-parts.ts';
import { isBelowVaults, vaultIdIn, vaultRoute } from './vault/path.ts';

const faults: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: invalid('', 'the headers must be at most 16 KiB'),
  ERR_HTTP_REQUEST_TIMEOUT: new Failure('REQUEST_TIMEOUT'),
};
const broken = invalid('', 'the request must be valid HTTP');
const reasons: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  503: 'Service Unavailable',
};

type Parts = Pick<ReadingSurfaceParts, 'domain' | 'addressOf'>;

export function clientErrorAnswers({ domain, addressOf }: Parts): AnswerClientError {
  async function record(
    method: string,
    { route, vaultId }: Endpoint,
    socket: Socket,
    fault: Failure,
  ): Promise<Failure> {
    const sender = { address: addressOf({ socket, headers: {} } as IncomingMessage), userAgent: '' };
    const request = { sender, requestId: null, route, method, tool: null };
    return domain.vaultReads
      .refuse({ ...request, token: null, vaultId, keyId: null }, fault)
      .then(() => fault)
      .catch(cause => new Failure('UNAVAILABLE', { cause, retryAfter: 1 }));
  }

  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const fault = faults[String(error.code)] ?? broken;
    const [method, target] = requestLine(error);
    const endpoint = endpointOf(target);
    if (endpoint === null) end(socket, fault, general);
    else record(method, endpoint, socket, fault).then(failure => end(socket, failure, endpoint));
  };
}

/** An endpoint on which every request is recorded. */
interface Endpoint {
  readonly route: string;
  readonly vaultId: string | null;
  readonly bodyOf: (failure: Failure) => object;
  readonly contentType: string;
}

const json = 'application/json; charset=utf-8';
const general = { bodyOf: errorBody, contentType: json };

function endpointOf(target: string): Endpoint | null {
  if (isBelowVaults(target))
    return { route: vaultRoute, vaultId: vaultIdIn(target), bodyOf: messageBody, contentType: json };
  if (!isDialect(target)) return null;
  return { route: routeOf(targetOf(target)), vaultId: null, bodyOf: errorsOf, contentType };
}

/** Ends the connection of a request whose body took too long to arrive. */
export function lateAnswers(parts: Parts) {
  const answer = clientErrorAnswers(parts);
  return ({ socket, method, url }: IncomingMessage) => {
    const rawPacket = Buffer.from(`${method} ${url}`, 'latin1');
    answer({ code: 'ERR_HTTP_REQUEST_TIMEOUT', rawPacket }, socket);
  };
}

/**
 * The request line of the unreadable request, as far as it arrived. The packet may also contain earlier requests on the
 * same connection, which were read.
 */
function requestLine({ rawPacket, bytesParsed = 0 }: ConnectionError): [method: string, target: string] {
  if (rawPacket === undefined) return ['', ''];
  const text = rawPacket.toString('latin1');
  const before = text.lastIndexOf('\r\n\r\n', Math.max(0, bytesParsed - 1));
  const line = /^\s*([!-~]{1,32}) ([!-~]+)/.exec(text.slice(Math.max(0, before)));
  return line === null ? ['', ''] : [line[1]!, line[2]!];
}

function end(
  socket: Socket,
  failure: Failure,
  { bodyOf, contentType }: Pick<Endpoint, 'bodyOf' | 'contentType'>,
): void {
  if (!socket.writable) return void socket.destroy();
  const status = statusOf[failure.code];
  const body = JSON.stringify(bodyOf(failure));
  const headers = {
    ...securityHeaders,
    ...failureHeaders(failure),
    'Content-Type': contentType,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${reasons[status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}
