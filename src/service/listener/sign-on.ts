/** The service's own addresses, sign-in through an OpenID Connect issuer, and OAuth, from the flags. */
import { isThisMachine } from '../../base/this-machine.ts';
import { type SingleSignOn, singleSignOnWith } from '../../domain/sign-in/single-sign-on.ts';
import { type SiteOf, siteReader } from '../../http/listener/browser.ts';
import type { PeerOf } from '../../http/listener/request.ts';
import type { OAuthSettings } from '../../http/surface/oauth-issuer.ts';
import type { AddressSettings } from '../../mcp/addresses.ts';
import type { Strongroom } from '../opening/open.ts';
import { type ServeConfig, UsageError } from '../settings/config.ts';

/** Null if no issuer is configured. */
export function signOnOf(
  config: ServeConfig,
  { keyring, now, newId }: Pick<Strongroom, 'keyring' | 'now' | 'newId'>,
): SingleSignOn | null {
  const { 'oidc-issuer': issuer, 'oidc-client-id': clientId, 'oidc-name': name } = config;
  const groupsClaim = config['oidc-groups-claim'];
  if (issuer === null && clientId === null) return null;
  if (issuer === null || clientId === null)
    throw new UsageError('--oidc-issuer and --oidc-client-id require each other');
  const settings = {
    issuer,
    clientId,
    clientSecret: config.oidcClientSecret,
    name: name ?? 'Single sign-on',
    groupsClaim,
  };
  return singleSignOnWith(settings, keyring, now, newId);
}

export function addressesOf(config: ServeConfig): AddressSettings {
  return { host: config.host, publicUrls: config['public-url'], baseUrls: config['mcp-base-url'] };
}

export function siteReaderOf(config: ServeConfig, encrypted: boolean, peerOf: PeerOf): SiteOf {
  return siteReader({ addresses: addressesOf(config), encrypted, proxies: config['behind-proxy'], peerOf });
}

export function oauthSettingsOf(config: ServeConfig, siteOf: SiteOf): OAuthSettings {
  const { oauth: mode, 'oauth-registration': mayRegister, 'public-url': publicUrls } = config;
  const isPlain = (url: string) => url.startsWith('http:') && !isThisMachine(new URL(url).hostname);
  if (mode !== null && publicUrls.some(isPlain))
    throw new UsageError('--oauth requires a --public-url that begins with https://');
  return { mode, mayRegister, publicUrls, siteOf };
}
