/** Sign-in through an OpenID Connect issuer, as the flags ask for it. */
import { type ServeConfig, UsageError } from './config.ts';
import { type SingleSignOn, singleSignOnWith } from './domain/accounts/single-sign-on.ts';
import type { Strongroom } from './open.ts';

/** Null where none is asked for. */
export function signOnOf(
  config: ServeConfig,
  { keyring, now, newId }: Pick<Strongroom, 'keyring' | 'now' | 'newId'>,
): SingleSignOn | null {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'oidc-name': name } = config;
  const groupsClaim = config['oidc-groups-claim'];
  if (issuer === null && clientId === null) return null;
  if (issuer === null || clientId === null)
    throw new UsageError('--oidc-issuer and --oidc-client-id go together');
  const settings = {
    issuer,
    clientId,
    clientSecret: config.oidcClientSecret,
    name: name ?? 'Single sign-on',
    groupsClaim,
  };
  return singleSignOnWith(settings, keyring, now, newId);
}
