/** The total, the page size, and buttons for the previous and next page. */
import { ChevronLeft, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';

interface PagerProps {
  readonly total: number;
  readonly page: number;
  readonly limit: number;
  readonly onPage: (page: number) => void;
  readonly children?: ReactNode;
  /** Present if the person can choose the page size. */
  readonly onSize?: ((size: number) => void) | undefined;
}

const sizes = [25, 50, 100];

const figures = new Intl.NumberFormat('en');

export function Pager({ total, page, limit, onPage, onSize, children }: PagerProps) {
  const pages = Math.max(1, Math.ceil(total / limit));
  const first = (page - 1) * limit + 1;
  const last = Math.min(total, page * limit);
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-t px-4 py-1.5 text-xs text-muted">
      <span className="tabular-nums">
        {pages === 1
          ? `${figures.format(total)} total`
          : `${figures.format(first)}–${figures.format(last)} of ${figures.format(total)}`}
      </span>
      {children}
      {onSize && total > sizes[0]! && (
        <label className="flex items-center gap-2">
          Per page
          <select
            className="control h-(--control-small) min-h-0 w-auto py-0 text-xs"
            value={limit}
            onChange={event => onSize(Number(event.target.value))}
          >
            {sizes.map(size => (
              <option key={size}>{size}</option>
            ))}
          </select>
        </label>
      )}
      {pages > 1 && (
        <nav aria-label="Pages" className="-mr-2 flex items-center gap-0.5">
          <Button
            look="quiet"
            size="icon"
            aria-label="Previous page"
            disabled={page <= 1}
            onClick={() => onPage(page - 1)}
          >
            <ChevronLeft className="size-4" aria-hidden />
          </Button>
          <span className="px-1 tabular-nums">
            {figures.format(page)} / {figures.format(pages)}
          </span>
          <Button
            look="quiet"
            size="icon"
            aria-label="Next page"
            disabled={page >= pages}
            onClick={() => onPage(page + 1)}
          >
            <ChevronRight className="size-4" aria-hidden />
          </Button>
        </nav>
      )}
    </div>
  );
}
