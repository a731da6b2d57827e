/** Fields to choose one or several records by name. The service searches, so the number of records doesn't matter. */
import { Combobox as Base } from '@base-ui/react/combobox';
import { Check, ChevronDown, X } from 'lucide-react';
import { useState } from 'react';
import { type Parameters, useList, useRecord } from '../api/use.ts';
import type { ControlIds } from './field.tsx';

interface Named {
  readonly id: string;
  readonly name: string;
}

/** The records to choose from. */
export interface Choosable<T extends Named = Named> {
  readonly collection: string;
  readonly filter?: Parameters;
  readonly accept?: (one: T) => boolean;
}

export const vaults: Choosable = { collection: 'vaults' };

interface ChoiceProps<T extends Named> extends Choosable<T> {
  readonly ids: Partial<ControlIds>;
  readonly placeholder: string;
}

const atOnce = 50;
const common = {
  // The service has already filtered the results.
  filter: null,
  itemToStringLabel: ({ name }: Named) => name,
  isItemEqualToValue: (one: Named, other: Named) => one.id === other.id,
} as const;

function useFound<T extends Named>({ collection, filter, accept = () => true }: Choosable<T>, text: string) {
  const list = useList<T>(collection, { ...filter, q: text.trim().slice(0, 255), limit: atOnce });
  const found = (list.data?.data ?? []).filter(accept);
  const more = (list.data?.pagination.total ?? 0) > atOnce;
  return { found: found.map(({ id, name }): Named => ({ id, name })), more, isPending: list.isPending };
}

interface OneProps<T extends Named> extends ChoiceProps<T> {
  /** The id of the chosen record; empty if none is chosen. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  readonly className?: string;
}

export function SearchChoice<T extends Named>({ value, onChange, className = '', ...of }: OneProps<T>) {
  const [chosen, setChosen] = useState<Named | null>(null);
  const [text, setText] = useState('');
  const isKnown = value === '' || chosen?.id === value;
  const record = useRecord<Named>(of.collection, value, !isKnown);
  const current = value === '' ? null : isKnown ? chosen : { id: value, name: record.data?.name ?? value };
  const { found, ...state } = useFound(of, text === current?.name ? '' : text);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  function choose(next: Named | null) {
    setChosen(next);
    onChange(next?.id ?? '');
  }
  if (!isKnown && record.isPending) return <input {...of.ids} disabled className={`control ${className}`} />;
  return (
    <Base.Root {...common} items={found} value={current} onValueChange={choose} onInputValueChange={setText}>
      <div ref={setAnchor} className={`relative ${className}`}>
        <Base.Input {...of.ids} placeholder={of.placeholder} className="control pr-9" />
        {current === null ? (
          <ChevronDown
            className="pointer-events-none absolute inset-y-0 right-2.5 my-auto size-4 text-muted"
            aria-hidden
          />
        ) : (
          <Base.Clear
            aria-label="Clear"
            className="absolute inset-y-0 right-1 my-auto grid size-(--control-small) place-items-center text-muted"
          >
            <X className="size-4" aria-hidden />
          </Base.Clear>
        )}
      </div>
      <Found {...state} anchor={anchor} />
    </Base.Root>
  );
}

interface SomeProps<T extends Named> extends ChoiceProps<T> {
  readonly value: readonly string[];
  readonly onChange: (ids: readonly string[]) => void;
}

export function SearchChoices<T extends Named>({ value, onChange, ...of }: SomeProps<T>) {
  const [text, setText] = useState('');
  const { found, ...state } = useFound(of, text);
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  return (
    <Base.Root
      {...common}
      multiple
      items={found}
      value={value.map((id): Named => ({ id, name: '' }))}
      onValueChange={all => onChange(all.map(({ id }) => id))}
      onInputValueChange={setText}
    >
      <Base.Chips ref={setAnchor} className="control flex h-auto flex-wrap items-center gap-1">
        {value.map(id => (
          <Chip key={id} id={id} collection={of.collection} />
        ))}
        <Base.Input
          {...of.ids}
          placeholder={value.length === 0 ? of.placeholder : ''}
          className="min-w-24 flex-1 bg-transparent outline-none"
        />
      </Base.Chips>
      <Found {...state} anchor={anchor} />
    </Base.Root>
  );
}

function Chip({ id, collection }: { id: string; collection: string }) {
  const { data } = useRecord<Named>(collection, id);
  const name = data?.name ?? `${id.slice(0, 8)}…`;
  return (
    <Base.Chip className="flex max-w-full items-center gap-1 rounded-md bg-accent-soft pl-1.5 text-xs leading-5 font-medium text-accent-strong">
      <span className="min-w-0 truncate">{name}</span>
      <Base.ChipRemove
        aria-label={`Remove ${name}`}
        className="grid size-5 place-items-center max-sm:size-10"
      >
        <X className="size-3.5" aria-hidden />
      </Base.ChipRemove>
    </Base.Chip>
  );
}

interface FoundProps {
  readonly anchor: HTMLElement | null;
  readonly more: boolean;
  readonly isPending: boolean;
}

function Found({ anchor, more, isPending }: FoundProps) {
  return (
    // Content outside an open dialog is hidden from screen readers, so the list goes inside it.
    <Base.Portal container={anchor?.closest<HTMLElement>('[role=dialog], main') ?? null}>
      <Base.Positioner sideOffset={4} className="z-50">
        <Base.Popup className="popup enter grow max-h-[min(20rem,var(--available-height))] w-(--anchor-width) min-w-56 overflow-y-auto p-1">
          <Base.Empty>
            <p className="px-3 py-2 text-muted empty:hidden">{isPending ? '' : 'No results.'}</p>
          </Base.Empty>
          <Base.List aria-label="Results">
            {(one: Named) => (
              <Base.Item
                key={one.id}
                value={one}
                className="flex min-h-(--control-small) items-center gap-2 rounded-lg px-2 outline-none data-highlighted:bg-hover"
              >
                <span className="min-w-0 flex-1 truncate">{one.name}</span>
                <Base.ItemIndicator>
                  <Check className="size-4 text-accent" aria-hidden />
                </Base.ItemIndicator>
              </Base.Item>
            )}
          </Base.List>
          <Base.Status className="px-3 pt-1 pb-1.5 text-xs text-muted empty:hidden">
            {more ? `Showing the first ${atOnce}. Type part of a name to find others.` : ''}
          </Base.Status>
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  );
}
