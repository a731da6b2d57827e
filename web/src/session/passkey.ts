/** Passkeys in the browser. Options and responses travel as JSON, in the form that the standard defines. */
import { post } from '../api/client.ts';

type CreationOptions = PublicKeyCredentialCreationOptionsJSON;
type RequestOptions = PublicKeyCredentialRequestOptionsJSON;

export const passkeysWork = typeof window !== 'undefined' && 'PublicKeyCredential' in window;

/** Creates a passkey on this device and returns the credential for the service. */
export async function makePasskey(optionsPath: string, body: unknown = {}): Promise<unknown> {
  const options = await post<CreationOptions | { publicKey: CreationOptions }>(optionsPath, body);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(inner(options));
  const credential = await navigator.credentials.create({ publicKey });
  return (credential as PublicKeyCredential).toJSON();
}

/** Proves the person's identity with a passkey on this device: to sign in, or to confirm a change. */
export async function answerWithPasskey(optionsPath: string, path: string): Promise<void> {
  const options = await post<RequestOptions | { publicKey: RequestOptions }>(optionsPath, {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(inner(options));
  const credential = await navigator.credentials.get({ publicKey });
  await post(path, { credential: (credential as PublicKeyCredential).toJSON() });
}

/** Closing the browser's own dialog means cancelling, which is not a failure. */
export function wasCancelled(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}

function inner<T extends object>(options: T | { publicKey: T }): T {
  return 'publicKey' in options ? (options.publicKey as T) : (options as T);
}
