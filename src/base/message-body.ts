/** The whole body of an HTTP message, bounded. By its events: the streams' own iterator costs more than all the rest. */
import type { IncomingMessage } from 'node:http';

/** It went on beyond what is allowed. */
export class BodyTooLong extends Error {
  readonly size: number;

  constructor(size: number) {
    super('the body is too long');
    this.size = size;
  }
}

/** Fails where it is too long, or breaks off. What is left of one that is too long is for the caller to deal with. */
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
      if (!message.readableEnded) fail(new Error('the body broke off'));
    });
  });
}
