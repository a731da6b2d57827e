/** Tabs, each a page with its own address. */
import { Link, useLocation } from 'wouter';

export interface Tab {
  readonly href: string;
  readonly label: string;
  readonly count?: number;
}

interface TabLinksProps {
  readonly label: string;
  readonly tabs: readonly Tab[];
  /** A tab is not the current one for what lies below its address. */
  readonly exact?: boolean;
}

export function TabLinks({ label, tabs, exact = false }: TabLinksProps) {
  const [location] = useLocation();
  return (
    <nav aria-label={label} className="-mb-px flex gap-1 overflow-x-auto border-b">
      {tabs.map(({ href, label: text, count }) => {
        const isHere = location === href || (!exact && location.startsWith(`${href}/`));
        return (
          <Link
            key={href}
            href={href}
            aria-current={isHere ? 'page' : undefined}
            className={`-mb-px flex items-center gap-2 border-b-2 px-3 py-2 font-medium whitespace-nowrap transition-colors focus-visible:-outline-offset-2 ${isHere ? 'border-accent text-ink' : 'border-transparent text-muted hover:text-ink'}`}
          >
            {text}
            {count !== undefined && (
              <span className="rounded-full bg-sunken px-1.5 text-xs leading-5 text-muted tabular-nums">
                {count}
              </span>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
