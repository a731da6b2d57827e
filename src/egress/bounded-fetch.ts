/**
 * `fetch` for a library that reads whole answers from a service that the operator configured. An answer may be at most
 * as long as other issuers' documents; a longer one is refused before it is in memory.
 */
import { largestDocument } from './documents.ts';

type Options = Parameters<typeof fetch>[1];

export async function boundedFetch(url: string, options?: object): Promise<Response> {
  const { body, status, statusText, headers } = await fetch(url, options as Options);
  const bytes = body === null ? null : await readBounded(body);
  return new Response(bytes, { status, statusText, headers });
}

async function readBounded(body: ReadableStream<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > largestDocument) throw new Error(`the answer is longer than ${largestDocument} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
