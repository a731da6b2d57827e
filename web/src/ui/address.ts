/** Keeps filters in the address, so that a page can be reloaded, shared and returned to. Never contains secret values. */
import { useSearchParams } from 'wouter';

export interface Address {
  get(name: string): string;
  readonly page: number;
  /** Changes some filters, and goes back to page 1. */
  set(changes: Readonly<Record<string, string>>): void;
  setPage(page: number): void;
}

export function useAddress(): Address {
  const [search, setSearch] = useSearchParams();
  const change = (changes: Readonly<Record<string, string>>) =>
    setSearch(
      before => {
        const next = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  return {
    get: name => search.get(name) ?? '',
    page: Math.max(1, Number.parseInt(search.get('page') ?? '1', 10) || 1),
    set: changes => change({ page: '', ...changes }),
    setPage: page => change({ page: page === 1 ? '' : String(page) }),
  };
}
