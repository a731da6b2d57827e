/**
 * Passkeys (WebAuthn), using a library that is loaded when it is first needed. A passkey is discoverable and verifies
 * its user, so it counts as two factors. It works for one site: the host that it was created on.
 */
import type { PasskeyCredential, PasskeyOptions } from '../../contract/auth.ts';
import { invalid } from '../../contract/errors.ts';
import type { PasskeyRow } from '../../store/records/accounts.ts';
import type { Challenges } from './challenges.ts';

/** The browser's origin, and the host that passkeys are bound to. */
export interface Site {
  readonly origin: string;
  readonly host: string;
}

export interface NewPasskey {
  readonly credentialId: string;
  readonly publicKey: Uint8Array;
  readonly transports: readonly string[];
  readonly counter: number;
  readonly challenge: string;
}

export type Passkeys = ReturnType<typeof passkeysWith>;

/** Ed25519, ES256 and RS256. */
const algorithms = [-8, -7, -257];
const load = () => import('@simplewebauthn/server');

export function passkeysWith(challenges: Challenges) {
  /** Checks the challenge that a browser signed, and remembers it. */
  function watch({ origin, host }: Site, purpose: string) {
    const watched = {
      challenge: '',
      expected: {
        expectedChallenge: (sent: string): boolean => {
          watched.challenge = sent;
          return challenges.holds(purpose, sent);
        },
        expectedOrigin: origin,
        expectedRPID: host,
        requireUserVerification: true,
      },
    };
    return watched;
  }

  return {
    creationOptions: async (
      site: Site,
      purpose: string,
      { handle, email }: { readonly handle: string; readonly email: string },
      existing: readonly PasskeyRow[],
    ): Promise<PasskeyOptions> => {
      const { generateRegistrationOptions } = await load();
      return generateRegistrationOptions({
        rpName: 'Strongroom',
        rpID: site.host,
        userName: email,
        userDisplayName: email,
        userID: plainBytes(Buffer.from(handle, 'utf8')),
        challenge: plainBytes(challenges.issue(purpose)),
        attestationType: 'none',
        supportedAlgorithmIDs: algorithms,
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        excludeCredentials: existing.map(({ credential_id }) => ({ id: credential_id })),
      });
    },

    /** `allowed`: the person is already known, and these are their passkeys. */
    requestOptions: async (site: Site, purpose: string, allowed: readonly PasskeyRow[] = []) => {
      const { generateAuthenticationOptions } = await load();
      return generateAuthenticationOptions({
        rpID: site.host,
        challenge: plainBytes(challenges.issue(purpose)),
        userVerification: 'required',
        allowCredentials: allowed.map(({ credential_id }) => ({ id: credential_id })),
      });
    },

    /** Throws if the credential is not valid. */
    verifyNew: async (site: Site, purpose: string, credential: PasskeyCredential): Promise<NewPasskey> => {
      const { verifyRegistrationResponse } = await load();
      const watched = watch(site, purpose);
      const result = await verifyRegistrationResponse({
        response: credential as never,
        ...watched.expected,
        supportedAlgorithmIDs: algorithms,
      }).catch(noProof);
      if (!result.verified) return noProof();
      const { id, publicKey, counter, transports = [] } = result.registrationInfo.credential;
      return {
        credentialId: id,
        publicKey,
        counter,
        challenge: watched.challenge,
        transports: transports.slice(0, 8),
      };
    },

    /** The result of a valid proof, or null. */
    verify: async (site: Site, purpose: string, credential: PasskeyCredential, row: PasskeyRow) => {
      const { verifyAuthenticationResponse } = await load();
      const watched = watch(site, purpose);
      const result = await verifyAuthenticationResponse({
        response: credential as never,
        ...watched.expected,
        credential: { id: row.credential_id, publicKey: plainBytes(row.public_key), counter: row.counter },
      }).catch(() => null);
      if (!result?.verified) return null;
      return { counter: result.authenticationInfo.newCounter, challenge: watched.challenge };
    },
  };
}

function noProof(cause?: unknown): never {
  throw invalid('credential', 'is not a passkey just created for this site', cause);
}

/** The library's types require bytes that share no memory. */
function plainBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
