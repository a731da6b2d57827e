/** The bar above a log: live updates, filters and export. */
import { Download, Pause, Play, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { query } from '../../api/client.ts';
import type { Address } from '../../ui/address.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { SearchChoice } from '../../ui/search-choice.tsx';
import { localOf } from '../../ui/text-field.tsx';

export const liveEvery = 2_000;

export function useLive(page: number): {
  readonly live: boolean;
  readonly every: number | false;
  toggle(): void;
} {
  const [wanted, setWanted] = useState(true);
  const live = wanted && page === 1;
  return { live, every: live ? liveEvery : false, toggle: () => setWanted(before => !before) };
}

export function LiveButton({ live, onToggle }: { live: boolean; onToggle: () => void }) {
  return (
    <Button onClick={onToggle} aria-pressed={live}>
      {live ? <Pause className="size-4" aria-hidden /> : <Play className="size-4" aria-hidden />}
      <span className="flex items-center gap-2">
        Live {live && <span aria-hidden className="size-2 animate-pulse rounded-full bg-good" />}
      </span>
    </Button>
  );
}

interface FilterProps {
  readonly address: Address;
  readonly name: string;
  readonly label: string;
}

export function TextFilter({ address, name, label }: FilterProps) {
  const [text, setText] = useState(address.get(name));
  const apply = () => text.trim() !== address.get(name) && address.set({ [name]: text.trim() });
  return (
    <Labelled label={label}>
      <input
        className="control w-36"
        value={text}
        onChange={event => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={event => event.key === 'Enter' && apply()}
      />
    </Labelled>
  );
}

export function ChoiceFilter({
  address,
  name,
  label,
  choices,
}: FilterProps & { choices: readonly (readonly [string, string])[] }) {
  return (
    <Labelled label={label}>
      <select
        className="control w-auto max-w-44"
        value={address.get(name)}
        onChange={event => address.set({ [name]: event.target.value })}
      >
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

interface SearchFilterProps extends FilterProps {
  readonly placeholder: string;
  readonly collection: string;
}

/** A record chosen by its name; the address has its id. */
export function SearchFilter({ address, name, label, placeholder, collection }: SearchFilterProps) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      <SearchChoice
        collection={collection}
        ids={{ id }}
        className="w-48"
        placeholder={placeholder}
        value={address.get(name)}
        onChange={chosen => address.set({ [name]: chosen })}
      />
    </div>
  );
}

export function MomentFilter({ address, name, label }: FilterProps) {
  return (
    <Labelled label={label}>
      <input
        type="datetime-local"
        className="control w-46"
        value={localOf(address.get(name))}
        onChange={event =>
          address.set({ [name]: event.target.value === '' ? '' : new Date(event.target.value).toISOString() })
        }
      />
    </Labelled>
  );
}

export function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what it is given
    <label className="flex flex-col gap-1 text-xs font-medium text-muted">
      {label}
      {children}
    </label>
  );
}

/** IPv4 fits on one line; IPv6 may wrap. */
export function IpAddress({ of }: { of: string }) {
  return <span className="inline-block min-w-[15ch] font-mono text-[13px] wrap-anywhere">{of}</span>;
}

/** Downloads of the filtered log, streamed by the service. */
export function ExportLinks({ log, filter }: { log: string; filter: Readonly<Record<string, string>> }) {
  return (['csv', 'jsonl'] as const).map(format => (
    <a
      key={format}
      href={`/v1/${log}/export${query({ ...filter, format })}`}
      download
      className={buttonClass({})}
    >
      <Download className="size-4" aria-hidden /> {format.toUpperCase()}
    </a>
  ));
}

export function ClearFilters({ address, names }: { address: Address; names: readonly string[] }) {
  if (names.every(name => address.get(name) === '')) return null;
  return (
    <Button look="quiet" onClick={() => address.set(Object.fromEntries(names.map(name => [name, ''])))}>
      <X className="size-4" aria-hidden /> Clear filters
    </Button>
  );
}
