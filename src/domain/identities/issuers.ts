/**
 * The public keys of issuers, from their discovery documents. They are cached for five minutes and then fetched
 * again. If an issuer can't be reached then, its last keys stay valid for up to an hour. An unknown key causes an
 * immediate fetch. However many requests there are, an issuer is asked at most once every ten seconds, and once at a
 * time. Each organization has its share of the cache: however many issuers one names, the others' keys stay.
 */
import { type KeySet, keySetOf } from '../../material/web-token.ts';

export type Issuers = ReturnType<typeof issuersWith>;

interface IssuerParts {
  readonly fetchDocument: (url: string) => Promise<unknown>;
  readonly now: () => number;
}

interface Known {
  keys: KeySet | null;
  fetchedAt: number;
  triedAt: number;
  reason: string;
  fetching: Promise<void> | null;
  /** The number of organizations that it is cached for. */
  holders: number;
}

const freshFor = 5 * 60_000;
const believedFor = 60 * 60_000;
const betweenTries = 10_000;
/** Across all organizations. If it is exceeded, the organization with the most issuers loses one. */
const mostIssuers = 1_000;
const mostOfOne = 100;

export function issuersWith({ fetchDocument, now }: IssuerParts) {
  const all = new Map<string, Known>();

  /** By organization; the least recently used issuer comes first. */
  const held = new Map<string, Set<string>>();

  function knownOf(organizationId: string, issuer: string): Known {
    const known = all.get(issuer) ?? newlyKnown();
    all.set(issuer, known);
    const own = held.get(organizationId) ?? new Set<string>();
    held.set(organizationId, own);
    if (!own.delete(issuer)) known.holders++;
    own.add(issuer);
    if (own.size > mostOfOne) drop(organizationId, own);
    if (all.size > mostIssuers) drop(...largest());
    return known;
  }

  function drop(organizationId: string, own: Set<string>): void {
    const [oldest] = own as Set<string> & Iterable<string>;
    own.delete(oldest!);
    if (own.size === 0) held.delete(organizationId);
    const known = all.get(oldest!)!;
    if (--known.holders === 0) all.delete(oldest!);
  }

  const largest = () => [...held].reduce((most, one) => (one[1].size > most[1].size ? one : most));

  async function ask(issuer: string, known: Known): Promise<void> {
    known.triedAt = now();
    try {
      known.keys = await fetchKeys(issuer);
      known.fetchedAt = now();
    } catch (error) {
      known.reason = (error as Error).message;
    }
  }

  /** Null if it was not asked, because it was asked just before. A clock that was set back doesn't prevent asking. */
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
    /** Rejects with a reason for the operator. */
    keysOf: async (organizationId: string, issuer: string): Promise<KeySet> => {
      const known = knownOf(organizationId, issuer);
      if (known.keys === null || age(known) >= freshFor) await renew(issuer, known);
      if (known.keys !== null && age(known) < believedFor) return known.keys;
      throw new Error(
        `the issuer’s keys can’t be fetched: ${known.reason || 'it was contacted moments ago'}`,
      );
    },

    /** The current keys, if they may have changed; null if the issuer was asked just before. */
    newKeysOf: async (organizationId: string, issuer: string): Promise<KeySet | null> => {
      const known = knownOf(organizationId, issuer);
      const before = known.keys;
      await renew(issuer, known);
      return known.keys === before ? null : known.keys;
    },
  };
}

function newlyKnown(): Known {
  return { keys: null, fetchedAt: 0, triedAt: 0, reason: '', fetching: null, holders: 0 };
}
