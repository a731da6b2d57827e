/** A credential as a forger makes it who knows one's id: the right id, a valid checksum, another secret. */
import assert from 'node:assert/strict';
import { mintToken, parseToken } from '../src/access/token.ts';

export function forged(token: string): string {
  const parsed = parseToken(token);
  assert.ok(parsed, 'a forgery has a model');
  const made = mintToken(parsed.kind, parsed.id);
  assert.deepEqual(parseToken(made), parsed);
  assert.notEqual(made, token);
  return made;
}
