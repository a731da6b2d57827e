/**
 * A text area for multi-line values: line numbers, two spaces for the Tab key, and a remark on invalid syntax. After
 * Escape, Tab leaves the field, so that the field doesn't trap keyboard users.
 */
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import { Field } from './field.tsx';

interface CodeFieldProps {
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string;
  readonly hint?: ReactNode;
  readonly optional?: boolean;
  readonly required?: boolean;
  /** A syntax error, if the text is in a known format. It doesn't prevent saving. */
  readonly remark?: string;
}

const fewest = 3;
const most = 24;

export function CodeField(props: CodeFieldProps) {
  const { label, name, value, onChange, error, hint, optional, required = false, remark = '' } = props;
  const [leaving, setLeaving] = useState(false);
  const numbers = useRef<HTMLDivElement>(null);
  const lines = value.split('\n').length;
  const isLong = lines > 1;
  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    if (!isLong) return;
    if (event.key === 'Escape' && !leaving) {
      event.stopPropagation();
      setLeaving(true);
    } else if (event.key === 'Tab' && !event.shiftKey && !leaving) {
      event.preventDefault();
      indent(event.currentTarget, onChange);
    }
  }
  return (
    <Field label={label} hint={hint} error={error} optional={optional}>
      {ids => (
        <>
          <div className="control flex h-auto overflow-hidden p-0 focus-within:outline-2 focus-within:outline-accent">
            {isLong && (
              <div
                ref={numbers}
                aria-hidden
                className="max-h-96 shrink-0 overflow-hidden border-r bg-sunken px-2 py-2 text-right font-mono text-xs text-muted select-none"
              >
                {Array.from({ length: lines }, (_, line) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: lines are identified by number
                  <div key={line}>{line + 1}</div>
                ))}
              </div>
            )}
            <textarea
              {...ids}
              name={name}
              rows={Math.min(most, Math.max(fewest, lines))}
              wrap={isLong ? 'off' : 'soft'}
              required={required}
              spellCheck={false}
              autoComplete="off"
              className="max-h-96 min-w-0 flex-1 resize-y bg-transparent px-3 py-2 font-mono text-xs outline-none"
              value={value}
              onChange={event => onChange(event.target.value)}
              onKeyDown={onKeyDown}
              onBlur={() => setLeaving(false)}
              onScroll={event => numbers.current?.scrollTo({ top: event.currentTarget.scrollTop })}
            />
          </div>
          <div role="status" className="text-xs text-warn empty:hidden">
            {remark}
          </div>
        </>
      )}
    </Field>
  );
}

function indent(area: HTMLTextAreaElement, onChange: (value: string) => void): void {
  const { selectionStart: from, selectionEnd: to, value } = area;
  onChange(`${value.slice(0, from)}  ${value.slice(to)}`);
  requestAnimationFrame(() => area.setSelectionRange(from + 2, from + 2));
}
