/**
 * What a client of the tool endpoint sent the browser with. It outlives signing in, which leads to other pages and
 * perhaps to the issuer of single sign-on; it is no secret, and is judged by the service each time.
 */
const kept = 'authorization-request';
export const authorizePage = '/oauth/authorize';

/** First of all, before any page leads elsewhere. */
export function keepAuthorizationRequest(): void {
  const { pathname, search } = window.location;
  if (pathname === authorizePage && search !== '') window.sessionStorage.setItem(kept, search);
}

export function isAuthorizationWaiting(): boolean {
  return window.sessionStorage.getItem(kept) !== null;
}

/** It is taken once; a page that is loaded again has it in its address. */
export function takeAuthorizationRequest(): string {
  const request = window.location.search || window.sessionStorage.getItem(kept) || '';
  window.sessionStorage.removeItem(kept);
  if (request !== '') window.history.replaceState(null, '', authorizePage + request);
  return request;
}
