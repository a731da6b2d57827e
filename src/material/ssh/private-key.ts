/** A new Ed25519 key as OpenSSH stores it (PROTOCOL.key), without a passphrase: older versions of ssh read no other form. */
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { type SshPublicKey, sshKeyOf } from './public-key.ts';
import { text, uint32 } from './wire.ts';

const magic = Buffer.from('openssh-key-v1\0');
const block = 8;
const lineLength = 70;

export function newSshKey(comment: string): {
  readonly publicKey: SshPublicKey;
  readonly privateKey: string;
} {
  const pair = generateKeyPairSync('ed25519');
  const publicKey = sshKeyOf(pair.publicKey.export({ type: 'spki', format: 'pem' }) as string)!;
  const { d, x } = pair.privateKey.export({ format: 'jwk' });
  const [seed, point] = [Buffer.from(d!, 'base64url'), Buffer.from(x!, 'base64url')];
  // The same number twice tells ssh that it decrypted the rest rightly.
  const check = randomBytes(4);
  const secret = Buffer.concat([
    check,
    check,
    publicKey.blob,
    text(Buffer.concat([seed, point])),
    text(comment),
  ]);
  const padding = Buffer.from(Array.from({ length: -secret.length & (block - 1) }, (_, at) => at + 1));
  const whole = Buffer.concat([
    magic,
    text('none'),
    text('none'),
    text(''),
    uint32(1),
    text(publicKey.blob),
    text(Buffer.concat([secret, padding])),
  ]);
  const lines = whole.toString('base64').match(new RegExp(`.{1,${lineLength}}`, 'g'))!;
  const privateKey = `-----BEGIN OPENSSH PRIVATE KEY-----\n${lines.join('\n')}\n-----END OPENSSH PRIVATE KEY-----\n`;
  return { publicKey, privateKey };
}
