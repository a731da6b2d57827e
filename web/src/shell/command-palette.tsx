/** Finds any resource or page by name. Works by keyboard: arrows to choose, Enter to open. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { useQuery } from '@tanstack/react-query';
import { Award, FileLock2, KeyRound, type LucideIcon, Search, Vault } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useState } from 'react';
import { useLocation } from 'wouter';
import { get, query } from '../api/client.ts';
import type { GenericResource, List, ResourceType } from '../api/types.ts';
import { useLayer } from '../ui/layers.ts';
import { hrefOf } from './href.ts';

interface Choice {
  readonly key: string;
  readonly label: string;
  readonly kind: string;
  readonly href: string;
  readonly icon: LucideIcon;
}

const icons: Record<ResourceType, LucideIcon> = {
  vault: Vault,
  secret: FileLock2,
  key: KeyRound,
  certificate: Award,
};

const pages: readonly (readonly [string, string])[] = [
  ['Overview', '/'],
  ['Vaults', '/vaults'],
  ['Access keys', '/access/keys'],
  ['Public tokens', '/access/public-tokens'],
  ['Identities', '/identities'],
  ['Request log', '/logs/requests'],
  ['Audit log', '/logs/audit'],
  ['Webhooks', '/webhooks'],
  ['API Keys', '/settings/api-keys'],
  ['Members', '/settings/members'],
  ['Organization', '/settings/organization'],
  ['Security', '/settings/security'],
  ['About', '/settings/about'],
];

export function CommandPalette({ open, onClose }: { open: boolean; onClose: () => void }) {
  useLayer(open);
  return (
    <Base.Root open={open} onOpenChange={next => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop forceRender className="enter fixed inset-0 z-50 bg-shade" />
        <Base.Viewport className="fixed inset-0 z-50 flex justify-center p-4 pt-[12vh]">
          <Base.Popup className="popup enter h-fit w-full max-w-xl overflow-hidden">
            <Base.Title className="sr-only">Search</Base.Title>
            <Finder onClose={onClose} />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}

function Finder({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const id = useId();
  const choices = useChoices(text.trim());
  const active = Math.min(at, choices.length - 1);
  function choose(choice: Choice | undefined) {
    if (choice === undefined) return;
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
      <div className="flex items-center gap-3 border-b px-4">
        <Search className="size-4 text-muted" aria-hidden />
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog was opened to type here
          autoFocus
          role="combobox"
          aria-expanded
          aria-controls={`${id}-list`}
          aria-activedescendant={choices[active] ? `${id}-${active}` : undefined}
          aria-label="Search for a resource or page by name"
          placeholder="Search secrets, vaults, pages…"
          className="h-12 flex-1 bg-transparent text-[15px] outline-none placeholder:text-muted"
          value={text}
          onChange={event => {
            setText(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <Choices id={id} choices={choices} active={active} onChoose={choose} />
    </>
  );
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
      <div id={`${id}-list`} role="listbox" aria-label="Results" className="max-h-[52vh] overflow-y-auto p-2">
        {choices.map((choice, index) => (
          <div
            key={choice.key}
            id={`${id}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            onClick={() => onChoose(choice)}
            onKeyDown={() => undefined}
            className={`flex items-center gap-3 rounded-lg px-3 py-2 ${index === active ? 'bg-accent-soft' : 'hover:bg-sunken'}`}
          >
            <choice.icon className="size-4 shrink-0 text-muted" aria-hidden />
            <span className="min-w-0 flex-1 truncate">{choice.label}</span>
            <span className="text-xs text-muted">{choice.kind}</span>
          </div>
        ))}
      </div>
      {choices.length === 0 && <p className="px-5 pb-6 text-center text-muted">No results.</p>}
    </>
  );
}

function useChoices(text: string): readonly Choice[] {
  const found = useQuery({
    queryKey: ['resources', 'palette', text],
    queryFn: () => get<List<GenericResource>>(`/v1/resources${query({ q: text, limit: 20 })}`),
    enabled: text !== '',
    placeholderData: previous => previous,
  });
  const wanted = text.toLowerCase();
  const matching = pages
    .filter(([label]) => label.toLowerCase().includes(wanted))
    .map(([label, href]): Choice => ({ key: href, label, href, kind: 'page', icon: Search }));
  if (text === '') return matching;
  const resources = (found.data?.data ?? []).map(
    (one): Choice => ({
      key: one.id,
      label: one.name,
      href: hrefOf(one),
      kind: one.type,
      icon: icons[one.type],
    }),
  );
  return [...resources, ...matching];
}
