/** One-time tokens come after the `#`, which is never sent to a server. They are removed from the address bar first. */
let taken: string | null = null;

/**
 * A CLI sign-in code is kept during a visit to the single sign-on issuer, which returns to a different page. The code is
 * not secret: it proves nothing.
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

/** A truncated or mistyped link is treated as an invalid token; it must not break the page. */
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

/** Returns the code from a link to `/device`, and removes it from storage. */
export function takeDeviceCode(): string {
  taken = takeHashToken() || window.sessionStorage.getItem(deviceCode);
  window.sessionStorage.removeItem(deviceCode);
  return taken ?? '';
}

/** Pasting a link into a tab that already shows its page changes only the `#`, so the page reloads to use it. */
export function beginAgainWithHashToken(): void {
  window.addEventListener('hashchange', () => {
    const { hash, pathname } = window.location;
    if (hash.length > 1 && ['/setup', '/invite', '/device'].includes(pathname)) window.location.reload();
  });
}
