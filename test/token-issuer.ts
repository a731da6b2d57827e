/** An issuer of tokens at a real address of this machine, whose keys and answers the test chooses. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

export interface IssuerKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export interface TokenIssuer {
  readonly url: string;
  /** What it publishes; the first one signs. */
  keys: IssuerKey[];
  /** Published beside them. */
  more: object[];
  /** In place of its usual answers, where it is not null. */
  answer: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  /** How often its keys were asked for. */
  readonly asked: () => number;
  sign(claims: JWTPayload, header?: object, key?: IssuerKey): Promise<string>;
  close(): Promise<void>;
}

export async function newKey(kid: string, alg = 'RS256', more: object = {}): Promise<IssuerKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, ...more } };
}

export async function startTokenIssuer(keys: IssuerKey[]): Promise<TokenIssuer> {
  let asked = 0;
  const server = createServer((request, response) => {
    if (issuer.answer !== null) return issuer.answer(request, response);
    const isKeys = request.url === '/keys';
    if (isKeys) asked += 1;
    const body = isKeys
      ? { keys: [...issuer.keys.map(({ jwk }) => jwk), ...issuer.more] }
      : { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const issuer: TokenIssuer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    keys,
    more: [],
    answer: null,
    asked: () => asked,
    sign: (claims, header = {}, key = issuer.keys[0]!) =>
      new SignJWT(claims).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey),
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
  return issuer;
}
