/**
 * Reads the whole body of an HTTP message, up to a limit. Listens to events because a stream's own iterator costs more
 * than everything else here.
 */
import type { IncomingMessage } from 'node:http';

/** The body exceeds the limit. */
export class BodyTooLong extends Error {
  readonly size: number;

  constructor(size: number) {
    super('the body is too long');
    this.size = size;
  }
}

/** Fails if the body is too long or breaks off. The caller must handle the unread rest of a body that is too long. */
export function bodyOf(message: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let size = 0;
    const fail = (error: Error) => {
      message.off('data', take);
      message.pause();
      reject(error);
    };
    const take = (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > most) fail(new BodyTooLong(size));
    };
    message.on('data', take);
    message.once('end', () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)));
    message.once('error', fail);
    message.once('close', () => {
      if (!message.readableEnded) fail(new Error('the body was cut off'));
    });
  });
}
