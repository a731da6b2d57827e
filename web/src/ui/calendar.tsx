/**
 * A month calendar that follows the ARIA date grid pattern: arrow keys move by day and week, Home and End to the ends of
 * the week, Page Up and Page Down by month, with Shift by year. Only one day is in the tab order.
 */
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { addDays, addMonths, weekdayOf, weeksAround } from './dates.ts';

const monthName = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });
const dayName = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' });
const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

interface CalendarProps {
  /** The chosen day; empty if none. */
  readonly chosen: string;
  readonly today: string;
  /** The first day that can be chosen. */
  readonly earliest?: string | undefined;
  readonly onChoose: (day: string) => void;
}

export function Calendar({ chosen, today, earliest = '', onChoose }: CalendarProps) {
  const [at, setAt] = useState(chosen || today);
  const title = useId();
  const grid = useRef<HTMLTableElement>(null);
  const isMoving = useRef(false);
  // A preset or typed input may choose a day in another month.
  useEffect(() => {
    if (chosen !== '') setAt(chosen);
  }, [chosen]);
  useEffect(() => {
    if (!isMoving.current) return;
    isMoving.current = false;
    grid.current?.querySelector<HTMLElement>(`[data-day="${at}"]`)?.focus();
  }, [at]);
  function onKeyDown(event: KeyboardEvent) {
    const next = movedBy(event, at);
    if (next === null) return;
    event.preventDefault();
    isMoving.current = true;
    setAt(next);
  }
  return (
    <div>
      <div className="flex items-center justify-between">
        <Button look="quiet" size="icon" aria-label="Previous month" onClick={() => setAt(addMonths(at, -1))}>
          <ChevronLeft className="size-4" aria-hidden />
        </Button>
        <h3 id={title} aria-live="polite" className="font-semibold">
          {monthName.format(new Date(at))}
        </h3>
        <Button look="quiet" size="icon" aria-label="Next month" onClick={() => setAt(addMonths(at, 1))}>
          <ChevronRight className="size-4" aria-hidden />
        </Button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: keyboard navigation makes this table a grid */}
      <table ref={grid} role="grid" aria-labelledby={title} className="mt-1 w-full" onKeyDown={onKeyDown}>
        <thead>
          <tr>
            {weekdays.map(name => (
              <th key={name} scope="col" className="h-7 text-2xs font-medium text-muted">
                <span className="sr-only">{name}</span>
                <span aria-hidden>{name.slice(0, 2)}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {weeksAround(at).map(week => (
            <tr key={week[0]}>
              {week.map(day => (
                <Day
                  key={day}
                  day={day}
                  isChosen={day === chosen}
                  isToday={day === today}
                  isOutside={day.slice(0, 7) !== at.slice(0, 7)}
                  isTooEarly={day < earliest}
                  isHere={day === at}
                  onChoose={onChoose}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function movedBy({ key, shiftKey }: KeyboardEvent, at: string): string | null {
  const days = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -7, ArrowDown: 7 }[key];
  if (days !== undefined) return addDays(at, days);
  if (key === 'Home') return addDays(at, -weekdayOf(at));
  if (key === 'End') return addDays(at, 6 - weekdayOf(at));
  const months = { PageUp: -1, PageDown: 1 }[key];
  return months === undefined ? null : addMonths(at, shiftKey ? 12 * months : months);
}

interface DayProps {
  readonly day: string;
  readonly isChosen: boolean;
  readonly isToday: boolean;
  readonly isOutside: boolean;
  readonly isTooEarly: boolean;
  readonly isHere: boolean;
  readonly onChoose: (day: string) => void;
}

function Day({ day, isChosen, isToday, isOutside, isTooEarly, isHere, onChoose }: DayProps) {
  const look = isChosen
    ? 'bg-accent font-semibold text-on-accent'
    : `${isToday ? 'font-semibold text-accent-strong' : isOutside ? 'text-muted' : ''} hover:bg-hover`;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the button inside is focusable
    // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a cell of a grid
    <td role="gridcell" aria-selected={isChosen} className="p-0">
      <button
        type="button"
        data-day={day}
        tabIndex={isHere ? 0 : -1}
        aria-label={dayName.format(new Date(day))}
        aria-current={isToday ? 'date' : undefined}
        aria-disabled={isTooEarly || undefined}
        onClick={() => !isTooEarly && onChoose(day)}
        className={`mx-auto grid h-8 w-9 place-items-center rounded-lg tabular-nums transition-colors max-sm:size-10 ${isTooEarly ? 'cursor-not-allowed text-muted opacity-45' : look}`}
      >
        {Number(day.slice(8))}
      </button>
    </td>
  );
}
