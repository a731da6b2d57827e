/** Signatures by the Standard Webhooks specification: one per secret in use, separated by spaces. */
import { Webhook } from 'standardwebhooks';

const mostSigners = 1_000;
const signers = new Map<string, Webhook>();

export function signatureOf(secrets: readonly string[], id: string, at: number, body: string): string {
  return secrets.map(secret => signerOf(secret).sign(id, new Date(at), body)).join(' ');
}

function signerOf(secret: string): Webhook {
  let signer = signers.get(secret);
  if (signer === undefined) {
    if (signers.size >= mostSigners) signers.clear();
    signer = new Webhook(secret);
    signers.set(secret, signer);
  }
  return signer;
}
