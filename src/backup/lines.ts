/** Splits a stream of bytes into lines. A line longer than any of ours is refused instead of being buffered. */
import { BackupError } from './backup-error.ts';

const longest = 64 * 1024 * 1024;
const newline = 10;

/** Every line must end with a newline; anything after the last newline is an error. */
export async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncIterable<string> {
  let parts: Buffer[] = [];
  let held = 0;
  for await (const piece of bytes) {
    let from = 0;
    for (let end = piece.indexOf(newline); end >= 0; end = piece.indexOf(newline, from)) {
      parts.push(piece.subarray(from, end));
      yield parts.length === 1 ? parts[0]!.toString('utf8') : Buffer.concat(parts).toString('utf8');
      parts = [];
      held = 0;
      from = end + 1;
    }
    parts.push(piece.subarray(from));
    held += piece.length - from;
    if (held > longest) throw tooLong();
  }
  if (held > 0) throw new BackupError('the backup’s contents end in the middle of a line');
}

const tooLong = () => new BackupError('the backup contains a line that is too long');
