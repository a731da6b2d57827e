/** A one-time token arrives after the `#`, which no server sees. It is removed from the address bar first of all. */
let taken: string | null = null;

/**
 * The code of a command line outlives a visit to the issuer of single sign-on, which comes back to another page than the
 * one that was asked for. It is no secret: it proves nothing to anybody.
 */
const deviceCode = 'device-code';

export function takeHashToken(): string {
  if (window.location.hash.length > 1) {
    taken = decoded(window.location.hash.slice(1));
    if (window.location.pathname === '/device') window.sessionStorage.setItem(deviceCode, taken);
    window.history.replaceState(null, '', window.location.pathname + window.location.search);
  }
  return taken ?? '';
}

/** A link that was cut or mistyped is a token that is not valid, and no reason to show an empty page. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function isDeviceWaiting(): boolean {
  return window.sessionStorage.getItem(deviceCode) !== null;
}

/** The code that a link to `/device` brought; it is taken once. */
export function takeDeviceCode(): string {
  taken = takeHashToken() || window.sessionStorage.getItem(deviceCode);
  window.sessionStorage.removeItem(deviceCode);
  return taken ?? '';
}

/** A link pasted into a tab that already shows its page changes only the `#`, so the page reloads to use it. */
export function beginAgainWithHashToken(): void {
  window.addEventListener('hashchange', () => {
    const { hash, pathname } = window.location;
    if (hash.length > 1 && ['/setup', '/invite', '/device'].includes(pathname)) window.location.reload();
  });
}
