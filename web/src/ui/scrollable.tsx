/** A labelled scrollable region that can be scrolled by keyboard. */
import type { ReactNode } from 'react';

interface ScrollableProps {
  readonly label: string;
  readonly className: string;
  readonly children: ReactNode;
}

export function Scrollable({ label, className, children }: ScrollableProps) {
  return (
    <section
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard
      tabIndex={0}
      className={className}
    >
      {children}
    </section>
  );
}
