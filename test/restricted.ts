/** Narrowed access keys as somebody writes them who has only read docs/agents.md, right and wrong ones. */
import { createHmac } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const digitsFor = (size: number) => Math.ceil((size * 8) / Math.log2(62));
const hmac = (key: string | Buffer, message: string | Buffer) =>
  createHmac('sha256', key).update(message).digest();

export function base62(bytes: Buffer): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 32) {
    const part = bytes.subarray(at, at + 32);
    let value = BigInt(`0x${part.toString('hex')}`);
    let written = '';
    for (let place = 0; place < digitsFor(part.length); place++, value /= 62n)
      written = digits[Number(value % 62n)]! + written;
    text += written;
  }
  return text;
}

export function withChecksum(text: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return text + base62(bytes);
}

export interface Written {
  readonly version?: number;
  readonly prefix?: string;
  /** In place of the one that follows from the links. */
  readonly mark?: Buffer;
  readonly lengths?: (length: number) => number;
}

/** From an access key and the restrictions as they are written, whatever they are. */
export function restrictedFrom(accessKey: string, links: readonly string[], how: Written = {}): string {
  const { version = 1, prefix = 'sr_narrow_', lengths = length => length } = how;
  const mark = how.mark ?? links.reduce(hmac, hmac(accessKey, `strongroom narrow ${version}`));
  const parts = links.flatMap(link => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(lengths(Buffer.byteLength(link)));
    return [length, Buffer.from(link)];
  });
  const id = accessKey.slice('sr_vault_'.length, 'sr_vault_'.length + 22);
  const body = base62(Buffer.concat([Buffer.from([version]), ...parts]));
  return withChecksum(`${prefix}${id}${body}${base62(mark)}`);
}
