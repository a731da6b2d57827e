/** Passkeys in the browser. Options and answers travel as JSON, in the shapes that the standard gives them. */
import { post } from '../api/client.ts';

type CreationOptions = PublicKeyCredentialCreationOptionsJSON;
type RequestOptions = PublicKeyCredentialRequestOptionsJSON;

export const passkeysWork = typeof window !== 'undefined' && 'PublicKeyCredential' in window;

/** Makes a passkey on this device; the answer is what the service wants to see. */
export async function makePasskey(optionsPath: string, body: unknown = {}): Promise<unknown> {
  const options = await post<CreationOptions | { publicKey: CreationOptions }>(optionsPath, body);
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(inner(options));
  const credential = await navigator.credentials.create({ publicKey });
  return (credential as PublicKeyCredential).toJSON();
}

/** Signs in with a passkey that this device holds. */
export async function signInWithPasskey(): Promise<void> {
  const options = await post<RequestOptions | { publicKey: RequestOptions }>('/auth/passkey/options', {});
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(inner(options));
  const credential = await navigator.credentials.get({ publicKey });
  await post('/auth/passkey', { credential: (credential as PublicKeyCredential).toJSON() });
}

/** A person who closes the browser's own window has changed their mind: that is no failure. */
export function wasCancelled(error: unknown): boolean {
  return error instanceof DOMException && (error.name === 'NotAllowedError' || error.name === 'AbortError');
}

function inner<T extends object>(options: T | { publicKey: T }): T {
  return 'publicKey' in options ? (options.publicKey as T) : (options as T);
}
