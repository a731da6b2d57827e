/**
 * Answers to what never became a request: broken syntax, headers past the limit, a sender that took too long.
 * The connection is closed after it, because nobody knows where its next request would begin.
 */
import type { Socket } from 'node:net';
import { type Failure, invalid } from '../contract/errors.ts';
import { errorBody } from './errors.ts';

const faults: Readonly<Record<string, Failure>> = {
  HPE_HEADER_OVERFLOW: invalid('', 'the headers must have 16 KiB at most'),
  ERR_HTTP_REQUEST_TIMEOUT: invalid('', 'the request must arrive sooner'),
};
const broken = invalid('', 'the request must be valid HTTP');

export function answerUnparsed(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(errorBody(faults[error.code ?? ''] ?? broken));
  socket.end(
    `HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  );
}
