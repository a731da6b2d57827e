/** The frame of a page: title, actions, and its empty, loading and error states. */
import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useEffect } from 'react';
import { sentence } from '../api/client.ts';
import { Button } from './button.tsx';

interface PageProps {
  readonly title: string;
  readonly above?: ReactNode;
  readonly intro?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, above, intro, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} – Strongroom`;
  }, [title]);
  return (
    <div className="mx-auto flex w-full max-w-7xl flex-col gap-4 px-4 py-5 sm:px-6 xl:px-8">
      <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          {above && <div className="text-xs text-muted">{above}</div>}
          <h1 className="text-xl font-semibold tracking-tight break-words">{title}</h1>
          {intro && <p className="max-w-3xl text-muted">{intro}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly intro?: ReactNode;
  readonly actions?: ReactNode;
  /** Puts the title beside the content if there is room, for pages that are read from top to bottom. */
  readonly beside?: boolean;
  readonly children: ReactNode;
}

export function Section({ title, intro, actions, beside = false, children }: SectionProps) {
  if (beside) {
    return (
      <section className="grid gap-x-10 gap-y-3 border-b pt-2 pb-6 last:border-0 lg:grid-cols-[16rem_minmax(0,44rem)]">
        <div className="min-w-0">
          <h2 className="font-semibold">{title}</h2>
          {intro && <p className="text-xs text-muted">{intro}</p>}
          {actions && <div className="mt-2 flex flex-wrap gap-2">{actions}</div>}
        </div>
        <div className="min-w-0">{children}</div>
      </section>
    );
  }
  return (
    <section className="surface">
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2 border-b px-4 py-2.5">
        <div className="min-w-0">
          <h2 className="font-semibold">{title}</h2>
          {intro && <p className="max-w-3xl text-xs text-muted">{intro}</p>}
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      <div className="px-4 py-4">{children}</div>
    </section>
  );
}

/** The empty state: says what belongs here and offers the next step. */
export function Empty({
  icon: Icon,
  title,
  children,
  action,
}: {
  icon: LucideIcon;
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center px-6 py-16 text-center">
      <span className="grid size-10 place-items-center rounded-xl border bg-canvas text-muted">
        <Icon className="size-5" aria-hidden />
      </span>
      <p className="mt-3 text-base font-semibold">{title}</p>
      {children && <p className="mt-1 max-w-md text-muted">{children}</p>}
      {action && <div className="mt-5 flex flex-wrap justify-center gap-2">{action}</div>}
    </div>
  );
}

export function Wrong({ error, retry }: { error: unknown; retry: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center justify-between gap-3 px-4 py-6">
      <p className="text-bad">{sentence(error)}</p>
      <Button size="small" onClick={retry}>
        Try again
      </Button>
    </div>
  );
}

/** Grey bars as a placeholder for the content. */
export function Loading({ lines = 5 }: { lines?: number }) {
  const widths = ['w-2/3', 'w-1/2', 'w-3/4', 'w-2/5', 'w-3/5'];
  return (
    <div role="status" className="flex flex-col gap-4 px-4 py-5">
      <span className="sr-only">Loading…</span>
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike
        <span key={index} className={`h-3.5 animate-pulse rounded bg-sunken ${widths[index % 5]}`} />
      ))}
    </div>
  );
}
