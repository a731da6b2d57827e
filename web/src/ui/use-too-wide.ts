/** Whether what is in a box is wider than the box, as either changes. */
import { type RefObject, useLayoutEffect, useState } from 'react';

export function useTooWide(box: RefObject<HTMLElement | null>): boolean {
  const [isTooWide, setTooWide] = useState(false);
  useLayoutEffect(() => {
    const outer = box.current;
    const inner = outer?.firstElementChild;
    if (!outer || !inner) return;
    const look = () => setTooWide(inner.scrollWidth > outer.clientWidth + 1);
    look();
    const observer = new ResizeObserver(look);
    observer.observe(outer);
    observer.observe(inner);
    return () => observer.disconnect();
  }, [box]);
  return isTooWide;
}
