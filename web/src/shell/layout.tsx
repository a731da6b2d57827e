/** The frame around every page: navigation on the left, or behind a button on a phone. */
import { Menu as MenuIcon, Search } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { Button } from '../ui/button.tsx';
import { SidePanel } from '../ui/dialog.tsx';
import { AccountMenu } from './account-menu.tsx';
import { ApprovalNotices } from './approval-notices.tsx';
import { CommandPalette } from './command-palette.tsx';
import { Logo } from './logo.tsx';
import { Navigation } from './navigation.tsx';
import { ThemeSwitch } from './theme.tsx';

const isMac = navigator.platform.startsWith('Mac');

export function Layout({ children }: { children: ReactNode }) {
  const [searching, setSearching] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      setSearching(open => !open);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
  const search = () => setSearching(true);
  return (
    <div className="min-h-dvh lg:grid lg:grid-cols-[15.5rem_1fr]">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-3 focus:left-3"
      >
        Skip to content
      </a>
      <TopBar onSearch={search} />
      <aside className="sticky top-0 hidden h-dvh flex-col gap-4 border-r bg-surface px-3 py-4 lg:flex">
        <Side onSearch={search} />
      </aside>
      <main id="main" tabIndex={-1} className="min-w-0 outline-none">
        {children}
      </main>
      <ApprovalNotices />
      <CommandPalette open={searching} onClose={() => setSearching(false)} />
    </div>
  );
}

function Side({ onSearch, onGo }: { onSearch: () => void; onGo?: () => void }) {
  return (
    <>
      <div className="flex items-center justify-between pl-2">
        <span className="flex items-center gap-2.5 text-[15px] font-semibold tracking-tight">
          <Logo /> Strongroom
        </span>
        <ThemeSwitch />
      </div>
      <button
        type="button"
        onClick={onSearch}
        className="flex items-center gap-2.5 rounded-lg border bg-canvas px-3 py-1.5 text-muted hover:border-line-strong"
      >
        <Search className="size-4" aria-hidden />
        <span className="flex-1 text-left">Search</span>
        <kbd className="rounded border bg-surface px-1.5 font-sans text-xs leading-5">
          {isMac ? '⌘K' : 'Ctrl K'}
        </kbd>
      </button>
      <Navigation onGo={onGo} />
      <div className="mt-auto">
        <AccountMenu />
      </div>
    </>
  );
}

function TopBar({ onSearch }: { onSearch: () => void }) {
  const [open, setOpen] = useState(false);
  const [location] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes the menu
  useEffect(() => setOpen(false), [location]);
  return (
    <header className="sticky top-0 z-20 flex items-center justify-between border-b bg-surface px-3 py-2 lg:hidden">
      <Button look="quiet" size="icon" aria-label="Menu" onClick={() => setOpen(true)}>
        <MenuIcon className="size-5" aria-hidden />
      </Button>
      <Logo className="size-6" />
      <Button look="quiet" size="icon" aria-label="Search" onClick={onSearch}>
        <Search className="size-5" aria-hidden />
      </Button>
      <SidePanel open={open} onClose={() => setOpen(false)} title="Menu">
        <div className="flex h-full flex-col gap-4">
          <Side
            onSearch={() => {
              setOpen(false);
              onSearch();
            }}
            onGo={() => setOpen(false)}
          />
        </div>
      </SidePanel>
    </header>
  );
}
