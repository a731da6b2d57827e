/**
 * OpenID Connect: authorization code with PKCE, state and nonce. The values that must come back unchanged are kept in
 * a sealed cookie of the browser that started, so nothing is stored and another browser can't finish. The result is
 * the identity that the issuer confirms; sign-on-identities.ts decides which person it is.
 */
import { Failure } from '../../contract/errors.ts';
import type { NewId } from '../../contract/id.ts';
import { boundedFetch } from '../../egress/bounded-fetch.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { KeptIdentity, SignOnIdentity } from './sign-on-identities.ts';

type Library = typeof import('openid-client');
type Configuration = import('openid-client').Configuration;
type Tokens = Awaited<ReturnType<Library['authorizationCodeGrant']>>;

interface SingleSignOnSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string | null;
  readonly name: string;
  /** The claim that lists a person's groups; null if groups are not used. */
  readonly groupsClaim: string | null;
}

export type SingleSignOn = ReturnType<typeof singleSignOnWith>;

interface Asked {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly proves: string | null;
  readonly expires: number;
}

const placeOf = (field: string) => ({ type: 'single-sign-on', resource: 'browser', field, version: 1 });
const asked = placeOf('kept');
const answered = placeOf('identity');
const lifetime = 10 * 60_000;
const timeout = 10;
/** To prove their identity, a person must have signed in at the issuer within this many seconds. */
const freshFor = 300;
const longestSubject = 255;
const mostGroups = 5_000;

export function singleSignOnWith(
  settings: SingleSignOnSettings,
  keyring: Keyring,
  now: () => number,
  newId: NewId,
) {
  const sealer = keyring.organizationSealer('');
  let found: Promise<{ library: Library; configuration: Configuration }> | null = null;

  /** Discovered when it is first needed, and again after a failure. */
  function issuer() {
    found ??= discover(settings).catch(cause => {
      found = null;
      throw new Failure('UNAVAILABLE', { cause, retryAfter: 5 });
    });
    return found;
  }

  function seal(place: typeof asked, values: Asked | KeptIdentity): string {
    return Buffer.from(sealer.seal(place, Buffer.from(JSON.stringify(values), 'utf8'))).toString('base64url');
  }

  function open<T extends Asked | KeptIdentity>(place: typeof asked, kept: string | null): T {
    try {
      const bytes = sealer.open(place, Buffer.from(String(kept), 'base64url'));
      const values = JSON.parse(bytes.toString('utf8')) as T;
      if (now() < values.expires) return values;
    } catch {
      // Not from us, or from another deployment.
    }
    throw refused('the browser has no sign-on in progress, or it has expired');
  }

  return {
    name: settings.name,

    /** The address for the browser, and what it must bring back. `proves` is the session to be proven. */
    start: async (redirectUri: string, proves: string | null) => {
      const { library, configuration } = await issuer();
      const values: Asked = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        verifier: library.randomPKCECodeVerifier(),
        proves,
        expires: now() + lifetime,
      };
      const url = library.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid email',
        code_challenge: await library.calculatePKCECodeChallenge(values.verifier),
        code_challenge_method: 'S256',
        state: values.state,
        nonce: values.nonce,
        ...(proves === null ? {} : { prompt: 'login', max_age: String(freshFor) }),
      });
      return { url: url.href, kept: seal(asked, values) };
    },

    /** The confirmed identity. Lower-level errors become UNAUTHORIZED. */
    finish: async (url: URL, kept: string | null) => {
      const { state, nonce, verifier, proves } = open<Asked>(asked, kept);
      const { library, configuration } = await issuer();
      const tokens = await library
        .authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
          // Checked in the token itself: the browser could have removed the parameter from the request.
          ...(proves === null ? {} : { maxAge: freshFor }),
        })
        .catch(cause => {
          throw refused('the issuer’s response is not valid', cause);
        });
      return { identity: await identityOf(library, configuration, tokens, settings.groupsClaim), proves };
    },

    /** Seals what the browser keeps while the person chooses, and opens it again. */
    keep: (identity: SignOnIdentity): string =>
      seal(answered, { identity, id: newId(), expires: now() + lifetime }),

    kept: (value: string | null): KeptIdentity => open<KeptIdentity>(answered, value),
  };
}

type Claims = Readonly<Record<string, unknown>>;

async function identityOf(
  library: Library,
  configuration: Configuration,
  tokens: Tokens,
  groupsClaim: string | null,
): Promise<SignOnIdentity> {
  const { iss, sub, ...inToken } = tokens.claims()!;
  if (sub === '' || sub.length > longestSubject) throw refused('the issuer names no subject');
  const isWhole = inToken.email !== undefined && (groupsClaim === null || inToken[groupsClaim] !== undefined);
  const told = isWhole ? {} : await userInfo(library, configuration, tokens);
  const address: Claims = inToken.email === undefined ? told : inToken;
  const groups = groupsClaim === null ? [] : (inToken[groupsClaim] ?? (told as Claims)[groupsClaim]);
  return {
    issuer: iss,
    subject: sub,
    email: typeof address.email === 'string' ? address.email : null,
    emailVerified: address.email_verified === true,
    groups: groupNamesIn(groups),
  };
}

/** Many issuers provide address and groups here, not in the token. If it fails, there are no groups. */
async function userInfo(library: Library, configuration: Configuration, tokens: Tokens): Promise<Claims> {
  const { sub, email } = tokens.claims()!;
  return library.fetchUserInfo(configuration, tokens.access_token, sub).catch(cause => {
    if (email !== undefined) return {};
    throw refused('the issuer does not provide the email address', cause);
  });
}

function groupNamesIn(claim: unknown): string[] {
  const names = (Array.isArray(claim) ? claim : [claim]).filter(name => typeof name === 'string');
  return names.slice(0, mostGroups).map(name => name.normalize('NFC'));
}

/** The response is always the same; the reason is for the operator. */
function refused(reason: string, cause?: unknown): Failure {
  return new Failure('UNAUTHORIZED', { cause: new Error(reason, { cause }) });
}

async function discover({ issuer, clientId, clientSecret }: SingleSignOnSettings) {
  const library = await import('openid-client');
  const url = new URL(issuer);
  // The flag's parser allows plain HTTP only for this machine.
  const plain = url.protocol === 'http:' ? [library.allowInsecureRequests] : [];
  // The token comes directly from the issuer, but a hijacked host name must not be enough to sign in as anyone.
  const execute = [library.enableNonRepudiationChecks, ...plain];
  const secret = clientSecret === null ? library.None() : library.ClientSecretPost(clientSecret);
  const configuration = await library.discovery(url, clientId, undefined, secret, {
    execute,
    timeout,
    [library.customFetch]: boundedFetch,
  });
  return { library, configuration };
}
