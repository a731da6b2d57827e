/** Whether the content of a box is wider than the box. Updates when either is resized. */
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
