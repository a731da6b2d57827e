/** Tabs that are links to pages. */
import { Link, useLocation } from 'wouter';

export interface Tab {
  readonly href: string;
  readonly label: string;
  readonly count?: number;
}

interface TabLinksProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** A tab is current only at its own address, not at addresses below it. */
  readonly exact?: boolean;
}

export function TabLinks({ label, tabs, exact = false }: TabLinksProps) {
  const [location] = useLocation();
  return (
    <nav aria-label={label} className="flex gap-4 overflow-x-auto border-b [scrollbar-width:none]">
      {tabs.map(({ href, label: text, count }) => {
        const isHere = location === href || (!exact && location.startsWith(`${href}/`));
        return (
          <Link
            key={href}
            href={href}
            aria-current={isHere ? 'page' : undefined}
            className={`-mb-px flex min-h-(--row) items-center gap-2 border-b-2 px-0.5 font-medium whitespace-nowrap transition-colors focus-visible:-outline-offset-2 ${isHere ? 'border-ink text-ink' : 'border-transparent text-muted hover:border-line-strong/50 hover:text-ink'}`}
          >
            {text}
            {count !== undefined && <span className="text-xs text-muted tabular-nums">{count}</span>}
          </Link>
        );
      })}
    </nav>
  );
}
