/** Search for records, pages and actions by name. Works by keyboard: arrows to choose, Enter to open. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { Search } from 'lucide-react';
import { Fragment, type KeyboardEvent, useEffect, useId, useState } from 'react';
import { useLocation } from 'wouter';
import { useRecord } from '../api/use.ts';
import { Kbd } from '../ui/kbd.tsx';
import { useLayer } from '../ui/layers.ts';
import { Name } from '../ui/name.tsx';
import { type Choice, noteRecent, useChoices } from './palette-choices.ts';

const hints = [
  ['↑ ↓', 'choose'],
  ['↵', 'open'],
  ['Esc', 'close'],
] as const;

interface PaletteProps extends FinderProps {
  readonly open: boolean;
}

interface FinderProps {
  readonly onClose: () => void;
  /** What is searched for. It may have been typed before this was loaded. */
  readonly text: string;
  readonly onText: (text: string) => void;
}

export default function CommandPalette({ open, ...finder }: PaletteProps) {
  const { onClose } = finder;
  useLayer(open);
  return (
    <Base.Root open={open} onOpenChange={next => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop forceRender className="enter fixed inset-0 z-50 bg-shade" />
        <Base.Viewport className="fixed inset-0 z-50 flex justify-center p-2 pt-[8vh] sm:p-4 sm:pt-[12vh]">
          <Base.Popup className="popup enter h-fit w-full max-w-xl overflow-hidden data-ending-style:scale-98 data-starting-style:scale-98">
            <Base.Title className="sr-only">Search</Base.Title>
            <Finder {...finder} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

function Finder({ onClose, text, onText }: FinderProps) {
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const id = useId();
  const choices = useChoices(text.trim());
  const active = Math.min(at, choices.length - 1);
  function choose(choice: Choice | undefined) {
    if (choice === undefined) return;
    noteRecent(choice);
    onClose();
    go(choice.href);
  }
  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt((active + step + choices.length) % Math.max(1, choices.length));
    else if (event.key === 'Enter') choose(choices[active]);
    else return;
    event.preventDefault();
  }
  return (
    <>
      <div className="flex items-center gap-2.5 border-b px-4">
        <Search className="size-4 text-muted" aria-hidden />
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type here
          autoFocus
          data-palette
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={choices[active] ? `${id}-${active}` : undefined}
          aria-label="Search by name"
          placeholder="Search secrets, keys, people, pages, actions…"
          className="h-11 min-w-0 flex-1 bg-transparent text-base outline-none placeholder:text-muted"
          value={text}
          onChange={event => {
            onText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <Choices id={id} choices={choices} active={active} onChoose={choose} />
    </>
  );
}

/** Shows the vault's name instead of its id. */
function InVault({ id }: { id: string }) {
  const { data } = useRecord<{ name: string }>('vaults', id);
  return data ? ` in ${data.name}` : null;
}

/** People, webhooks and the like are listed together. */
function groupOf(choice: Choice | undefined): string | undefined {
  return choice && (choice.group ?? 'Access and people');
}

interface ChoicesProps {
  readonly id: string;
  readonly choices: readonly Choice[];
  readonly active: number;
  readonly onChoose: (choice: Choice) => void;
}

function Choices({ id, choices, active, onChoose }: ChoicesProps) {
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [id, active]);
  return (
    <>
      <div
        id={`${id}-list`}
        role="listbox"
        aria-label="Results"
        className="max-h-[min(52vh,26rem)] overflow-y-auto p-1.5"
      >
        {choices.map((choice, index) => (
          <Fragment key={choice.key}>
            {groupOf(choice) !== groupOf(choices[index - 1]) && (
              <p aria-hidden className="px-2.5 pt-2 pb-1 text-2xs font-medium text-muted">
                {groupOf(choice)}
              </p>
            )}
            <div
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === active}
              onClick={() => onChoose(choice)}
              onKeyDown={() => undefined}
              className={`flex min-h-8 items-center gap-2.5 rounded-lg px-2.5 py-1 max-sm:min-h-11 ${index === active ? 'bg-accent-soft' : 'hover:bg-hover'}`}
            >
              <choice.icon className="size-4 shrink-0 text-muted" aria-hidden />
              <span className="min-w-0 flex-1 sm:flex sm:items-center sm:gap-3">
                <span className="block sm:flex-1">
                  <Name text={choice.label} />
                </span>
                <span className="block text-xs text-muted sm:shrink-0">
                  {choice.kind}
                  {choice.vaultId && <InVault id={choice.vaultId} />}
                </span>
              </span>
            </div>
          </Fragment>
        ))}
      </div>
      {choices.length === 0 && <p className="px-5 pb-6 text-center text-muted">No results.</p>}
      <p
        aria-hidden
        className="hidden items-center gap-4 border-t bg-canvas px-4 py-1.5 text-xs text-muted sm:flex"
      >
        {hints.map(([keys, what]) => (
          <span key={keys} className="flex items-center gap-1.5">
            <Kbd keys={keys} /> {what}
          </span>
        ))}
      </p>
    </>
  );
}
