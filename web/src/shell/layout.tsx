/** The frame around every page: navigation on the left, or behind a button on a phone. */
import { Menu as MenuIcon, Search } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../ui/button.tsx';
import { Kbd, withKey } from '../ui/kbd.tsx';
import { whenOpened } from '../ui/lazily.tsx';
import { Logo } from '../ui/logo.tsx';
import { ThemeSwitch } from '../ui/theme.tsx';
import { AccountMenu } from './account-menu.tsx';
import { ApprovalNotices } from './approval-notices.tsx';
import { useEarlyTyping } from './early-typing.ts';
import { Navigation } from './navigation.tsx';
import { useShortcuts } from './shortcuts.ts';

const CommandPalette = whenOpened(() => import('./command-palette.tsx'));
const ShortcutSheet = whenOpened(() => import('./shortcut-sheet.tsx'));
const SidePanel = whenOpened(async () => ({ default: (await import('../ui/dialog.tsx')).SidePanel }));

type Layer = 'search' | 'shortcuts' | null;

export function Layout({ children }: { children: ReactNode }) {
  const [layer, setLayer] = useState<Layer>(null);
  const [sought, setSought] = useState('');
  useEarlyTyping(layer === 'search', setSought);
  const close = () => {
    setLayer(null);
    setSought('');
  };
  useShortcuts({
    search: () => (layer === 'search' ? close() : setLayer('search')),
    sheet: () => setLayer('shortcuts'),
  });
  const side = { onSearch: () => setLayer('search'), onShortcuts: () => setLayer('shortcuts') };
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[13.75rem_1fr]">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to content
      </a>
      <TopBar {...side} />
      <aside className="sticky top-0 hidden h-dvh flex-col gap-4 overflow-y-auto bg-canvas px-2.5 py-3 lg:flex">
        <Side {...side} />
      </aside>
      <main id="main" tabIndex={-1} className="min-h-dvh min-w-0 bg-surface outline-none lg:border-l">
        {children}
      </main>
      <ApprovalNotices />
      <CommandPalette open={layer === 'search'} onClose={close} text={sought} onText={setSought} />
      <ShortcutSheet open={layer === 'shortcuts'} onClose={close} />
    </div>
  );
}

interface SideProps {
  readonly onSearch: () => void;
  readonly onShortcuts: () => void;
}

function Side({ onSearch, onShortcuts, onGo }: SideProps & { onGo?: () => void }) {
  return (
    <>
      <div className="flex items-center justify-between pl-2">
        <span className="flex items-center gap-2 text-base font-semibold tracking-tight">
          <Logo className="size-6" /> Strongroom
        </span>
        <ThemeSwitch />
      </div>
      <button
        type="button"
        onClick={onSearch}
        className="flex h-(--control) shrink-0 items-center gap-2 rounded-lg border bg-surface px-2 text-muted shadow-(--shadow-control) transition-colors hover:border-line-strong/60 hover:text-ink"
      >
        <Search className="size-4" aria-hidden />
        <span className="flex-1 text-left">Search</span>
        <span className="max-lg:hidden">
          <Kbd keys={`${withKey} K`} />
        </span>
      </button>
      <Navigation onGo={onGo} />
      <div className="mt-auto">
        <AccountMenu onShortcuts={onShortcuts} />
      </div>
    </>
  );
}

function TopBar({ onSearch, onShortcuts }: SideProps) {
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigating closes the menu
  useEffect(() => setOpen(false), [location]);
  const after = (next: () => void) => () => {
    setOpen(false);
    next();
  };
  return (
    <header className="sticky top-0 z-20 flex h-13 items-center justify-between border-b bg-surface px-2 lg:hidden">
      <Button look="quiet" size="icon" aria-label="Menu" onClick={() => setOpen(true)}>
        <MenuIcon className="size-5" aria-hidden />
      </Button>
      <Logo className="size-6" />
      <Button look="quiet" size="icon" aria-label="Search" onClick={onSearch}>
        <Search className="size-5" aria-hidden />
      </Button>
      <SidePanel open={open} onClose={() => setOpen(false)} title="Menu">
        <div className="flex h-full flex-col gap-4">
          <Side onSearch={after(onSearch)} onShortcuts={after(onShortcuts)} onGo={() => setOpen(false)} />
        </div>
      </SidePanel>
    </header>
  );
}
