/**
 * `auth/token/…` for access keys, apart from reads: renewing the key, which does not extend its expiry, creating a
 * short-lived child, and revoking the key itself.
 */
import { z } from 'zod';
import { check } from '../../contract/check.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { shownLine } from '../../contract/text.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { tokenFactsOf } from './access-key-reads.ts';
import { type DialectAnswer, type DialectCall, objectIn } from './calls.ts';
import { duration, secondsIn } from './durations.ts';
import { authForm } from './forms.ts';
import { routeOf, type TokenCall } from './target.ts';

const defaultLifetime = 60 * 60;
const longestLifetime = 24 * 60 * 60;

/** Vault's other fields concern policies, which do not exist here. Some clients send nulls. */
const newToken = z.looseObject({
  display_name: shownLine(0, 255).nullish(),
  ttl: duration,
  explicit_max_ttl: duration,
  num_uses: z.int().min(0).max(1_000_000_000).nullish(),
  no_parent: z
    .literal(false, { error: 'can’t be true: a token ends with the token that created it' })
    .nullish(),
  period: duration,
});

export function tokenCallsWith({ domain, now }: AppParts) {
  const { vaultReads, ownAccessKeys } = domain;

  /** Returns the access key's own facts, once the request is recorded and counted like any other read. */
  async function itself({ method, token, origin }: DialectCall, call: TokenCall) {
    const result = await vaultReads.read({
      by: 'access-key',
      sender: origin,
      requestId: origin.requestId,
      route: routeOf({ of: 'token', call }),
      method,
      tool: null,
      token,
      vaultId: null,
      keyId: null,
      connection: {},
      selection: { of: 'access-key' },
      knownDigests: [],
    });
    if ('failure' in result) throw result.failure;
    if (result.status === 304) throw new Error('unexpected 304: no digest was sent');
    return tokenFactsOf(JSON.parse(result.body.toString('utf8')));
  }

  async function create({ token, origin, body }: DialectCall): Promise<DialectAnswer> {
    const { display_name, num_uses, ttl, explicit_max_ttl, period } = check(newToken, objectIn(body));
    if (secondsIn('period', period) !== null) throw invalid('period', 'is not supported');
    const longest = secondsIn('explicit_max_ttl', explicit_max_ttl) ?? longestLifetime;
    const lifetime = Math.min(secondsIn('ttl', ttl) ?? defaultLifetime, longest, longestLifetime);
    const { token: created, ...child } = await ownAccessKeys.createChild(token, origin, {
      name: display_name || 'token',
      lifetime: 1000 * lifetime,
      maxUses: num_uses || null,
    });
    const auth = authForm(created, { ...child, isChild: true }, now());
    return { status: 200, auth: JSON.stringify(auth) };
  }

  async function renew(call: DialectCall): Promise<DialectAnswer> {
    const facts = await domain.authenticate.accessKeyAnywhere(call.token, call.origin);
    const { id, name, expirationDate: expiresAt, maxUses } = facts;
    const auth = authForm(call.token!, { id, name, expiresAt, maxUses }, now());
    return { status: 200, auth: JSON.stringify(auth) };
  }

  return {
    async admit(call: DialectCall, of: TokenCall): Promise<void> {
      await itself(call, of);
    },

    async answer(call: DialectCall, of: TokenCall): Promise<DialectAnswer> {
      if (call.method !== 'POST' && call.method !== 'PUT') throw new Failure('NOT_FOUND');
      if (of === 'create') return create(call);
      if (of === 'renew-self') return renew(call);
      if (of !== 'revoke-self') throw new Failure('NOT_FOUND');
      await ownAccessKeys.revokeItself(call.token, call.origin);
      return { status: 204 };
    },
  };
}
