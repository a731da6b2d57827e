/** A scrollable region with a name, reachable by keyboard so that it can be read without a mouse. */
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={className}
    >
      {children}
    </section>
  );
}
