/**
 * A field for a date and time: typed, chosen from a calendar, or a preset. It is shown in the person's time zone and sent
 * as UTC. An invalid date, or a past one where it must be in the future, is reported when the person leaves the field.
 */
import { Popover } from '@base-ui/react/popover';
import { CalendarDays } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { ApiError } from '../api/client.ts';
import type { Form } from '../api/form.ts';
import { buttonClass } from './button.tsx';
import { Calendar } from './calendar.tsx';
import { isMoment, later, localOf, momentIn, textOf, zoneAt } from './dates.ts';
import { type ControlIds, Field } from './field.tsx';

export type Preset = readonly [label: string, moment: () => string];

const ahead: readonly Preset[] = [
  ['In 7 days', () => later(7, 'd')],
  ['In 30 days', () => later(30, 'd')],
  ['In 90 days', () => later(90, 'd')],
  ['In 1 year', () => later(1, 'y')],
];
const noDate = 'must be a date, such as 17 Dec 2026, 14:30';
const notAhead = 'must be in the future';

type DateName<T> = { [K in keyof T]: T[K] extends string ? K : never }[keyof T] & string;

interface DateFieldProps<T> {
  readonly form: Form<T>;
  readonly name: DateName<T>;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly optional?: boolean;
  /** The meaning of an empty field. */
  readonly none?: string;
}

/** An activation date or an expiration date; the latter must be in the future. */
export function DateField<T extends object>({ form, name, label, hint, optional, none }: DateFieldProps<T>) {
  const value = form.values[name] as string;
  const isExpiry = name === 'expiration_date';
  const [left, setLeft] = useState(false);
  const own = left ? wrongWith(value, isExpiry) : '';
  return (
    <Field label={label} hint={hint} optional={optional} error={form.errorOf(name) || own}>
      {ids => (
        <DateInput
          ids={ids}
          name={name}
          value={value}
          presets={ahead}
          none={none ?? (isExpiry ? 'Never' : 'Immediately')}
          timeOfDay={isExpiry ? '23:59' : '00:00'}
          mustBeAhead={isExpiry}
          onChange={next => {
            setLeft(false);
            form.set(name, next as T[typeof name]);
          }}
          onLeave={() => setLeft(value !== initialOf(form, name))}
        />
      )}
    </Field>
  );
}

/** The stored date. It may be in the past, which is not the person's mistake. */
function initialOf<T extends object>(form: Form<T>, name: DateName<T>): string {
  return (form.initial[name] as string | undefined) ?? '';
}

function wrongWith(value: string, mustBeAhead: boolean): string {
  if (value === '') return '';
  if (!isMoment(value)) return noDate;
  return mustBeAhead && new Date(value) <= new Date() ? notAhead : '';
}

interface DateInputProps {
  readonly ids: Partial<ControlIds>;
  readonly name?: string;
  /** A moment, or the typed text if it is not a date. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly onLeave?: () => void;
  readonly presets: readonly Preset[];
  readonly none: string;
  /** The time for a day that was chosen without one. */
  readonly timeOfDay: string;
  readonly mustBeAhead?: boolean;
}

export function DateInput(props: DateInputProps) {
  const { ids, name, value, onChange, onLeave, none, timeOfDay } = props;
  const [typed, setTyped] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  function type(text: string) {
    setTyped(text);
    onChange(momentIn(text, timeOfDay) ?? text.trim());
  }
  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    setOpen(true);
  }
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <div ref={box} className="relative">
        <input
          {...ids}
          name={name}
          type="text"
          autoComplete="off"
          placeholder={none}
          className="control pr-9 tabular-nums"
          value={typed ?? textOf(value)}
          onChange={event => type(event.target.value)}
          onKeyDown={onKeyDown}
          onBlur={() => {
            setTyped(null);
            onLeave?.();
          }}
        />
        <Popover.Trigger
          aria-label="Choose a date"
          aria-describedby={ids.id && `${ids.id}-label`}
          className={`absolute inset-y-0 right-0.5 my-auto ${buttonClass({ look: 'quiet', size: 'icon' })}`}
        >
          <CalendarDays className="size-4" aria-hidden />
        </Popover.Trigger>
      </div>
      {/* Content outside an open dialog is hidden from screen readers, so the calendar goes inside it. */}
      <Popover.Portal container={box.current?.closest<HTMLElement>('[role=dialog], main') ?? null}>
        <Popover.Positioner anchor={box} sideOffset={4} align="start" className="z-50">
          <Chooser {...props} onClose={() => setOpen(false)} />
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  );
}

function Chooser(props: DateInputProps & { readonly onClose: () => void }) {
  const { value, onChange, presets, none, timeOfDay, mustBeAhead = false, onClose } = props;
  const popup = useRef<HTMLDivElement>(null);
  const [day = '', time = ''] = isMoment(value) ? value.split('T') : [];
  const today = localOf(new Date()).slice(0, 10);
  const choose = (moment: string) => {
    onChange(moment);
    onClose();
  };
  return (
    <Popover.Popup
      ref={popup}
      initialFocus={() => popup.current?.querySelector<HTMLElement>('[data-day][tabindex="0"]') ?? true}
      className="popup enter grow max-w-[calc(100vw-1rem)] p-3"
    >
      <Popover.Title className="sr-only">Choose a date</Popover.Title>
      <div className="flex flex-col gap-3 sm:flex-row">
        <div className="flex flex-wrap gap-1 sm:w-28 sm:flex-col sm:border-r sm:pr-3">
          {[...presets, [none, () => ''] as Preset].map(([label, moment]) => (
            <button
              key={label}
              type="button"
              className="h-(--control-small) rounded-lg px-2 text-left text-xs font-medium text-muted transition-colors hover:bg-hover hover:text-ink max-sm:border"
              onClick={() => choose(moment())}
            >
              {label}
            </button>
          ))}
        </div>
        <div>
          <Calendar
            chosen={day}
            today={today}
            earliest={mustBeAhead ? today : undefined}
            onChoose={chosen => choose(`${chosen}T${time || timeOfDay}`)}
          />
          {/* biome-ignore lint/a11y/noLabelWithoutControl: the control is in it */}
          <label className="mt-2 flex items-center gap-2 border-t pt-2 text-xs text-muted">
            Time
            <TimeInput value={time || timeOfDay} onChange={next => onChange(`${day || today}T${next}`)} />
            <span className="max-w-32">{zoneAt(value)}</span>
          </label>
        </div>
      </div>
    </Popover.Popup>
  );
}

/** Hours and minutes in the same format as the date field, regardless of the browser's locale. */
function TimeInput({ value, onChange }: { value: string; onChange: (time: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  function type(text: string) {
    setTyped(text);
    const [, hour, minute] = /^([01]?\d|2[0-3])[:.]?([0-5]\d)$/.exec(text.trim()) ?? [];
    if (hour !== undefined) onChange(`${hour.padStart(2, '0')}:${minute}`);
  }
  return (
    <input
      type="text"
      inputMode="numeric"
      maxLength={5}
      placeholder="14:30"
      className="control w-16 px-1 text-center text-ink tabular-nums max-sm:w-20"
      value={typed ?? value}
      onChange={event => type(event.target.value)}
      onBlur={() => setTyped(null)}
    />
  );
}

/** Converts a date field's value for the API: null for an empty field. Throws if it is not a date. */
export function momentOf(local: string, field = 'activation_date'): string | null {
  if (local === '') return null;
  if (!isMoment(local)) throw refused(field, noDate);
  return new Date(local).toISOString();
}

/** Like `momentOf`, for an expiration date: a new one must be in the future; the stored one may be in the past. */
export function expiryOf(local: string, before: string | null | undefined = null): string | null {
  const moment = momentOf(local, 'expiration_date');
  if (moment !== null && local !== localOf(before) && Date.parse(moment) <= Date.now())
    throw refused('expiration_date', notAhead);
  return moment;
}

function refused(field: string, reason: string): ApiError {
  return new ApiError(400, { error: { message: 'The date is not valid', details: { field, reason } } });
}
