/**
 * OpenID Connect: authorization code with PKCE, state and nonce. What must come back unchanged travels in a
 * sealed cookie of the browser that started, so nothing is stored and another browser can't finish. Only an
 * address that the issuer calls verified is believed; who it belongs to is decided elsewhere.
 */
import { Failure } from '../../contract/errors.ts';
import type { Keyring } from '../../keyring/keyring.ts';

type Library = typeof import('openid-client');
type Configuration = import('openid-client').Configuration;

export interface SingleSignOnSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly name: string;
}

export interface SingleSignOn {
  readonly name: string;
  /** Where to send the browser, and what it must bring back. */
  start(redirectUri: string): Promise<{ readonly url: string; readonly kept: string }>;
  /** The verified address, lower-level faults turned into UNAUTHORIZED. */
  finish(url: URL, kept: string | null): Promise<string>;
}

interface Kept {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly expires: number;
}

const place = { type: 'single-sign-on', resource: 'browser', field: 'kept', version: 1 };
const lifetime = 10 * 60_000;
const timeout = 10;

export function singleSignOnWith(
  settings: SingleSignOnSettings,
  keyring: Keyring,
  now: () => number,
): SingleSignOn {
  const box = keyring.organizationBox('');
  let found: Promise<{ library: Library; configuration: Configuration }> | null = null;

  /** Looked up when it is first needed, and again after it failed. */
  function issuer() {
    found ??= discover(settings).catch(cause => {
      found = null;
      throw new Failure('UNAVAILABLE', { cause, retryAfter: 5 });
    });
    return found;
  }

  function opened(kept: string | null): Kept {
    try {
      const values = JSON.parse(
        box.open(place, Buffer.from(kept ?? '', 'base64url')).toString('utf8'),
      ) as Kept;
      if (now() < values.expires) return values;
    } catch {
      // Not ours, or of another deployment.
    }
    throw new Failure('UNAUTHORIZED');
  }

  return {
    name: settings.name,

    start: async redirectUri => {
      const { library, configuration } = await issuer();
      const values: Kept = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        verifier: library.randomPKCECodeVerifier(),
        expires: now() + lifetime,
      };
      const url = library.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        code_challenge: await library.calculatePKCECodeChallenge(values.verifier),
        code_challenge_method: 'S256',
        state: values.state,
        nonce: values.nonce,
      });
      const kept = box.seal(place, Buffer.from(JSON.stringify(values), 'utf8'));
      return { url: url.href, kept: Buffer.from(kept).toString('base64url') };
    },

    finish: async (url, kept) => {
      const { state, nonce, verifier } = opened(kept);
      const { library, configuration } = await issuer();
      const tokens = await library
        .authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        .catch(cause => {
          throw new Failure('UNAUTHORIZED', { cause });
        });
      const { email, email_verified } = {
        ...tokens.claims(),
        ...(await userInfo(library, configuration, tokens)),
      };
      if (typeof email !== 'string' || email_verified !== true) throw new Failure('UNAUTHORIZED');
      return email;
    },
  };
}

/** Many issuers tell the address there, and not in the token. */
async function userInfo(
  library: Library,
  configuration: Configuration,
  tokens: Awaited<ReturnType<Library['authorizationCodeGrant']>>,
): Promise<{ email?: unknown; email_verified?: unknown }> {
  const claims = tokens.claims()!;
  if (claims.email !== undefined) return {};
  const { email, email_verified } = await library
    .fetchUserInfo(configuration, tokens.access_token, claims.sub)
    .catch(cause => {
      throw new Failure('UNAUTHORIZED', { cause });
    });
  return { email, email_verified };
}

async function discover({ issuer, clientId, clientSecret }: SingleSignOnSettings) {
  const library = await import('openid-client');
  const url = new URL(issuer);
  // The flag's parser lets plain HTTP pass for this machine alone.
  const execute = url.protocol === 'http:' ? [library.allowInsecureRequests] : [];
  const secret = clientSecret === null ? library.None() : library.ClientSecretPost(clientSecret);
  const configuration = await library.discovery(url, clientId, undefined, secret, { execute, timeout });
  return { library, configuration };
}
