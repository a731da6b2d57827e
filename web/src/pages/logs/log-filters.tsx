/** The bar above a log: live updates, filters and export. */
import { Download, Pause, Play, X } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { query } from '../../api/client.ts';
import type { Address } from '../../ui/address.ts';
import { Button, buttonClass } from '../../ui/button.tsx';
import { DateInput, type Preset } from '../../ui/date-field.tsx';
import { isMoment, later, localOf } from '../../ui/dates.ts';
import { SearchChoice } from '../../ui/search-choice.tsx';

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
        className="control sm:w-28"
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
        className="control sm:w-auto sm:max-w-40"
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

/** Chooses a record by name, and keeps its id in the address. */
export function SearchFilter({ address, name, label, placeholder, collection }: SearchFilterProps) {
  const id = useId();
  return (
    <div className="flex flex-col gap-1 max-sm:w-full">
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      <SearchChoice
        collection={collection}
        ids={{ id }}
        className="sm:w-40"
        placeholder={placeholder}
        value={address.get(name)}
        onChange={chosen => address.set({ [name]: chosen })}
      />
    </div>
  );
}

const past: readonly Preset[] = [
  ['1 hour ago', () => later(-1, 'h')],
  ['24 hours ago', () => later(-1, 'd')],
  ['7 days ago', () => later(-7, 'd')],
  ['30 days ago', () => later(-30, 'd')],
];

/** Applies typed text as soon as it is a valid date. */
export function MomentFilter({ address, name, label }: FilterProps) {
  const id = useId();
  const [draft, setDraft] = useState<string | null>(null);
  function change(value: string) {
    const isWhole = value === '' || isMoment(value);
    setDraft(isWhole ? null : value);
    if (isWhole) address.set({ [name]: value === '' ? '' : new Date(value).toISOString() });
  }
  return (
    <div className="flex flex-col gap-1 max-sm:w-full">
      <label id={`${id}-label`} htmlFor={id} className="text-xs font-medium text-muted">
        {label}
      </label>
      <div className="sm:w-40">
        <DateInput
          ids={{ id }}
          value={draft ?? localOf(address.get(name))}
          presets={past}
          none="Any time"
          timeOfDay={name === 'to' ? '23:59' : '00:00'}
          onChange={change}
          onLeave={() => setDraft(null)}
        />
      </div>
    </div>
  );
}

export function Labelled({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is passed as children
    <label className="flex flex-col gap-1 text-xs font-medium text-muted max-sm:w-full">
      {label}
      {children}
    </label>
  );
}

/** IPv4 addresses stay on one line; IPv6 addresses may wrap. */
export function IpAddress({ of }: { of: string }) {
  return <span className="inline-block min-w-[15ch] font-mono text-xs wrap-anywhere">{of}</span>;
}

/** Links that download the filtered log, streamed by the service. */
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
