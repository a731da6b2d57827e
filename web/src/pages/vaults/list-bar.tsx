/** Search, filters and the create button above a list of resources. Filters are kept in the address. */
import type { ReactNode } from 'react';
import { useAddress } from '../../ui/address.ts';
import { SearchBox } from '../../ui/search-box.tsx';

/** The query parameters that filter a list of resources. */
export const resourceFilters = ['q', 'state', 'tag'];

const states = [
  ['', 'Any state'],
  ['active', 'Active'],
  ['inactive', 'Not yet active'],
  ['expired', 'Expired'],
  ['disabled', 'Disabled'],
] as const;

export function ListBar({ what, action }: { what: string; action: ReactNode }) {
  const address = useAddress();
  function setTag(text: string) {
    const tag = text.trim() === '' || text.includes('=') ? text.trim() : `${text.trim()}=`;
    if (tag !== address.get('tag')) address.set({ tag });
  }
  return (
    <div className="flex flex-wrap items-center gap-2">
      <SearchBox label={`Search ${what}`} value={address.get('q')} onSearch={q => address.set({ q })} />
      <select
        aria-label="State"
        className="control max-sm:flex-1 sm:w-auto"
        value={address.get('state')}
        onChange={event => address.set({ state: event.target.value })}
      >
        {states.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
      <input
        key={`tag ${address.get('tag')}`}
        aria-label="Tag"
        placeholder="Tag: name=value"
        className="control max-sm:flex-1 sm:w-44"
        defaultValue={address.get('tag')}
        onBlur={event => setTag(event.target.value)}
        onKeyDown={event => event.key === 'Enter' && setTag(event.currentTarget.value)}
      />
      <div className="ml-auto max-sm:flex max-sm:w-full max-sm:flex-col">{action}</div>
    </div>
  );
}
