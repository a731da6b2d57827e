/** A real issuer of single sign-on, and a person's way through its pages and back. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { Browser } from './people.ts';

export const clientId = 'strongroom';
export const clientSecret = 'a-secret-between-the-two';
export const signOnCookie = '__Host-strongroom-sso';

export interface Claims {
  readonly email?: string;
  readonly email_verified?: boolean;
  readonly groups?: readonly string[] | string;
}

export interface Issuer {
  /** What it tells of somebody, by their `sub`; of others it tells that `sub` as their verified address. */
  readonly people: Map<string, Claims>;
  stop(): Promise<void>;
}

export async function startIssuer(url: string, redirectUri: string): Promise<Issuer> {
  const people = new Map<string, Claims>();
  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    findAccount: (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...(people.get(id) ?? { email: id, email_verified: true }) }),
    }),
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    pkce: { required: () => true },
    cookies: { keys: ['only for tests'] },
    ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Interaction: 60, Session: 60, Grant: 60 },
  });
  const server: Server = createServer(provider.callback());
  await new Promise<void>(resolve => server.listen(Number(new URL(url).port), '127.0.0.1', resolve));
  return {
    people,
    stop: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** The same software as an issuer of machines: it gives the client `worker` a token for an audience. */
export async function startProvider() {
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    clients: [
      {
        client_id: 'worker',
        client_secret: clientSecret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context, resource) => ({
          scope: '',
          audience: new URL(resource).hostname,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 300,
        }),
      },
    },
  });
  server.on('request', provider.callback());
  return {
    url,
    tokenFor: async (audience: string): Promise<string> => {
      const form = {
        grant_type: 'client_credentials',
        client_id: 'worker',
        client_secret: clientSecret,
        resource: `https://${audience}`,
      };
      const answer = await fetch(`${url}/token`, { method: 'POST', body: new URLSearchParams(form) });
      return ((await answer.json()) as { access_token: string }).access_token;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** Signs in at the issuer as a person would, and comes back with the address that the issuer sends the browser to. */
export async function visitIssuer(start: string, as: string): Promise<string> {
  const jar = new Browser(new URL(start).origin);
  let url = start;
  for (let hop = 0; hop < 12; hop++) {
    if (url.includes('/auth/oidc/callback')) return url;
    const { pathname, search } = new URL(url);
    const page = await visit(jar, 'GET', pathname + search);
    const location = page.headers.get('location');
    if (location !== null) {
      url = new URL(location, url).href;
      continue;
    }
    const prompt = /name="prompt" value="(\w+)"/.exec(await page.text())![1]!;
    const form = new URLSearchParams({ prompt, ...(prompt === 'login' ? { login: as, password: 'x' } : {}) });
    const answer = await visit(jar, 'POST', pathname, form);
    url = new URL(answer.headers.get('location')!, url).href;
  }
  throw new Error('the issuer never sent the browser back');
}

/** One step of a browser, which doesn't follow where it is sent. */
export async function visit(
  jar: Browser,
  method: string,
  path: string,
  form?: URLSearchParams,
): Promise<Response> {
  const cookie = [...jar.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const response = await fetch(jar.url + path, {
    method,
    redirect: 'manual',
    headers: { cookie },
    ...(form === undefined ? {} : { body: form }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name, value] = line.split(';')[0]!.split('=');
    if (value === '') jar.cookies.delete(name!);
    else jar.cookies.set(name!, value!);
  }
  return response;
}

/** To the issuer and back, each step to be looked at. */
export async function signOn(browser: Browser, as: string, start = '/auth/oidc/start') {
  const started = await visit(browser, 'GET', start);
  const back = new URL(await visitIssuer(started.headers.get('location')!, as));
  const finished = await visit(browser, 'GET', back.pathname + back.search);
  return { browser, started, back, finished, location: finished.headers.get('location') };
}
