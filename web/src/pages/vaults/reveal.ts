/** Reveals a value. The service records every reveal; the value is kept only by the component that asked for it. */
import { post } from '../../api/client.ts';
import type { RevealedKey, RevealedSecret } from '../../api/types.ts';

export async function revealSecret(id: string, version?: number): Promise<string> {
  const body = version === undefined ? {} : { version };
  return (await post<RevealedSecret>(`/v1/secrets/${id}/reveal`, body)).value;
}

/** The text of a template, or the value of any other secret: what a person writes. */
export async function revealText(id: string, version?: number): Promise<string> {
  const body = version === undefined ? { resolve: false } : { version, resolve: false };
  return (await post<RevealedSecret>(`/v1/secrets/${id}/reveal`, body)).value;
}

export async function revealKey(id: string): Promise<string> {
  return (await post<RevealedKey>(`/v1/keys/${id}/reveal`)).pem;
}
