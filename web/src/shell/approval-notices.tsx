/** Announces calls that wait for an approval: on every page and, if the person allowed it, as browser notifications. */
import { useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import type { Approval, WaitingApprovals } from '../api/types.ts';
import { useWaitingNow } from '../shared/approvals.ts';
import { note } from '../ui/toast.tsx';

export function ApprovalNotices() {
  const { data } = useWaitingNow();
  const [, go] = useLocation();
  const known = useRef<ReadonlySet<string> | null>(null);
  useEffect(() => {
    if (data === undefined) return;
    const before = known.current;
    known.current = new Set(data.data.map(({ id }) => id));
    const fresh = data.data.filter(before === null ? isSinceOpened(data) : ({ id }) => !before.has(id));
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

/** By the service's clock. Calls that were waiting when the page was opened are not announced; the menu counts them. */
function isSinceOpened({ answered_at }: WaitingApprovals): (one: Approval) => boolean {
  const opened = Date.parse(answered_at) - performance.now();
  return ({ created_at }) => Date.parse(created_at) >= opened;
}
