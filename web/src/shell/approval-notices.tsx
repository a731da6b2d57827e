/** Tells of calls that wait for an approval, on every page and, where the person allowed it, outside of the browser. */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { useWaitingNow } from '../api/approvals.ts';
import { note } from '../ui/toast.tsx';

export function ApprovalNotices() {
  const { data } = useWaitingNow();
  const [, go] = useLocation();
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (data === undefined) return;
    const before = known.current;
    known.current = new Set(data.data.map(({ id }) => id));
    // What waited already when the page was opened is in the menu.
    const fresh = before === null ? [] : data.data.filter(({ id }) => !before.has(id));
    for (const { id, access_key, rule } of fresh) {
      const text = `${access_key} asks to use ${rule}`;
      note(text);
      if (!('Notification' in window) || Notification.permission !== 'granted') continue;
      const shown = new Notification('Approval requested', { body: text, tag: id });
      shown.onclick = () => {
        window.focus();
        go(`/approvals/${id}`);
      };
    }
  }, [data, go]);
  return null;
}
