/** Signatures by the Standard Webhooks specification: one per secret in use, separated by spaces. */
import { Webhook } from 'standardwebhooks';
import { remembering } from '../base/memo.ts';

const mostSigners = 1_000;
const signerOf = remembering(mostSigners, (secret: string) => new Webhook(secret));

export function signatureOf(secrets: readonly string[], id: string, at: number, body: string): string {
  return secrets.map(secret => signerOf(secret).sign(id, new Date(at), body)).join(' ');
}
