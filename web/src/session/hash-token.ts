/** A one-time token arrives behind the `#`, which no server sees. It leaves the address bar before anything else. */
let taken: string | null = null;

export function takeHashToken(): string {
  if (window.location.hash.length > 1) {
    taken = decodeURIComponent(window.location.hash.slice(1));
    window.history.replaceState(null, '', window.location.pathname + window.location.search);
  }
  return taken ?? '';
}

/** A link pasted into a tab that shows its page already changes nothing but the `#`: the page begins again with it. */
export function beginAgainWithHashToken(): void {
  window.addEventListener('hashchange', () => {
    const { hash, pathname } = window.location;
    if (hash.length > 1 && (pathname === '/setup' || pathname === '/invite')) window.location.reload();
  });
}
