/**
 * Verifiers of passwords for PostgreSQL (RFC 5803, SCRAM-SHA-256). The server gets the verifier instead of the password,
 * so that the password is in none of its logs. Only for passwords of ASCII characters, which need no normalization.
 */
import { createHash, createHmac, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';

const derive = promisify(pbkdf2);
const iterations = 4_096;
const digestLength = 32;

export async function scramVerifier(password: string, salt: Buffer): Promise<string> {
  if (!/^[!-~]+$/.test(password))
    throw new Error('a password with other characters would have to be normalized');
  const salted = await derive(password, salt, iterations, digestLength, 'sha256');
  const mark = (text: string) => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(mark('Client Key')).digest('base64');
  const serverKey = mark('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}
