/**
 * The public keys of issuers, by their discovery documents. They are kept for five minutes and then fetched anew; an
 * issuer that can't be reached then is believed on what it last said, for an hour at most. A key that nobody has heard
 * of has them fetched at once. However many ask, an issuer is asked at most once in ten seconds, and once at a time.
 */
import { type KeySet, keySetOf } from '../../material/web-token.ts';

export interface Issuers {
  /** Rejects with a reason for the operator. */
  keysOf(issuer: string): Promise<KeySet>;
  /** The keys as they are now, where they may have changed since; null where it was asked just before. */
  newKeysOf(issuer: string): Promise<KeySet | null>;
}

export interface IssuerParts {
  /** A JSON document from where the service may connect to. */
  readonly fetchDocument: (url: string) => Promise<unknown>;
  readonly now: () => number;
}

interface Known {
  keys: KeySet | null;
  fetchedAt: number;
  triedAt: number;
  reason: string;
  fetching: Promise<void> | null;
}

const freshFor = 5 * 60_000;
const believedFor = 60 * 60_000;
const betweenTries = 10_000;
const mostIssuers = 1_000;

export function issuersWith({ fetchDocument, now }: IssuerParts): Issuers {
  const all = new Map<string, Known>();

  function knownOf(issuer: string): Known {
    const known = all.get(issuer) ?? { keys: null, fetchedAt: 0, triedAt: 0, reason: '', fetching: null };
    all.delete(issuer);
    all.set(issuer, known); // The one that was asked for longest ago goes first.
    if (all.size > mostIssuers) all.delete(all.keys().next().value!);
    return known;
  }

  async function ask(issuer: string, known: Known): Promise<void> {
    known.triedAt = now();
    try {
      known.keys = await fetchKeys(issuer);
      known.fetchedAt = now();
    } catch (error) {
      known.reason = (error as Error).message;
    }
  }

  /** Whether it was asked: a clock that was set back does not stop that. */
  function renew(issuer: string, known: Known): Promise<void> | null {
    if (known.fetching === null && Math.abs(now() - known.triedAt) < betweenTries) return null;
    known.fetching ??= ask(issuer, known).finally(() => {
      known.fetching = null;
    });
    return known.fetching;
  }

  async function fetchKeys(issuer: string): Promise<KeySet> {
    const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const found = (await fetchDocument(place)) as { issuer?: unknown; jwks_uri?: unknown } | null;
    if (found?.issuer !== issuer) throw new Error('its discovery document is another issuer’s');
    if (typeof found.jwks_uri !== 'string') throw new Error('its discovery document names no keys');
    const keys = await fetchDocument(found.jwks_uri);
    return keySetOf(keys).catch(error => {
      throw new Error(`its key set ${error.message}`);
    });
  }

  const age = ({ fetchedAt }: Known) => Math.abs(now() - fetchedAt);

  return {
    keysOf: async issuer => {
      const known = knownOf(issuer);
      if (known.keys === null || age(known) >= freshFor) await renew(issuer, known);
      if (known.keys !== null && age(known) < believedFor) return known.keys;
      throw new Error(`the issuer’s keys can’t be fetched: ${known.reason || 'it was asked just before'}`);
    },

    newKeysOf: async issuer => {
      const known = knownOf(issuer);
      const before = known.keys;
      await renew(issuer, known);
      return known.keys === before ? null : known.keys;
    },
  };
}
