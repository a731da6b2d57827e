/** The paths of the transit engine that need no key: random bytes and hashes. Both are small, so they block nothing. */
import { hash } from 'node:crypto';
import { invalid } from '../../../contract/errors.ts';
import { type DialectAnswer, objectIn } from '../calls.ts';
import { bytesIn, numberIn, refuseSet, textIn } from './encodings.ts';
import type { KeylessCall } from './target.ts';

const mostRandom = 65_536;
const sources = ['platform', 'seal', 'all'];
const digests: Readonly<Record<string, string>> = {
  'sha2-224': 'sha224',
  'sha2-256': 'sha256',
  'sha2-384': 'sha384',
  'sha2-512': 'sha512',
  'sha3-224': 'sha3-224',
  'sha3-256': 'sha3-256',
  'sha3-384': 'sha3-384',
  'sha3-512': 'sha3-512',
};

export function keylessAnswer(
  { verb, details }: KeylessCall,
  body: unknown,
  random: (size: number) => Buffer,
): DialectAnswer {
  const fields = objectIn(body);
  const made = verb === 'random' ? randomIn(fields, details, random) : hashOf(fields, details);
  return { status: 200, data: JSON.stringify(made), mountType: 'transit' };
}

type Fields = Readonly<Record<string, unknown>>;

/** The path may name a source, a number of bytes, or both. There is one source here. */
function randomIn(fields: Fields, details: readonly string[], random: (size: number) => Buffer) {
  const [source, size] = /^\d+$/.test(details[0] ?? '') ? [undefined, ...details] : details;
  if (source !== undefined && !sources.includes(source))
    throw invalid('source', 'must be platform, seal or all');
  const asked = size === undefined ? fields : { bytes: size };
  const bytes = numberIn(asked, 'bytes', mostRandom) ?? 32;
  if (bytes === 0) throw invalid('bytes', 'must be at least 1');
  return { random_bytes: random(bytes).toString(formatIn(fields, 'base64')) };
}

function hashOf(fields: Fields, [inPath, ...more]: readonly string[]) {
  if (more.length > 0) throw invalid('algorithm', 'must be one');
  refuseSet(fields, { batch_input: 'is not supported for hashes' });
  const name = inPath ?? textIn(fields, 'algorithm') ?? 'sha2-256';
  if (!Object.hasOwn(digests, name))
    throw invalid('algorithm', 'must be of SHA-2 or SHA-3, such as sha2-256');
  const input = bytesIn(fields, 'input');
  if (input === undefined) throw invalid('input', 'is required');
  return { sum: hash(digests[name]!, Buffer.from(input, 'base64url'), formatIn(fields, 'hex')) };
}

function formatIn(fields: Fields, otherwise: 'base64' | 'hex'): 'base64' | 'hex' {
  const format = textIn(fields, 'format') ?? otherwise;
  if (format === 'base64' || format === 'hex') return format;
  throw invalid('format', 'must be base64 or hex');
}
