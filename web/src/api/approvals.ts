/**
 * Calls of agents that wait for a person. One place asks for them while somebody is there, often enough that a call
 * arrives within a second; a page that nobody touched for an hour asks no more, because that would keep its session
 * alive.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useMay } from '../session/session.tsx';
import { get } from './client.ts';
import type { Approval, List } from './types.ts';

const often = 700;
const inBackground = 10_000;
const attention = 60 * 60 * 1000;
/** A page that is being opened has other things to ask for first. */
const opening = 1_000;

/** What is known of them; asked for by `useWaitingNow`. */
export function useWaiting() {
  return useAsked(false);
}

/** For the one place that asks. */
export function useWaitingNow() {
  const touched = useRef(Date.now());
  const opened = useRef(Date.now());
  useEffect(() => {
    const touch = () => {
      touched.current = Date.now();
    };
    const kinds = ['pointerdown', 'keydown', 'focus'] as const;
    for (const kind of kinds) window.addEventListener(kind, touch);
    return () => {
      for (const kind of kinds) window.removeEventListener(kind, touch);
    };
  }, []);
  return useAsked(() => {
    const now = Date.now();
    if (now - touched.current > attention) return false;
    if (now - opened.current < opening) return opening;
    return document.hidden && !isTold() ? inBackground : often;
  });
}

/** Whether a person is told outside of the page, so that a page that nobody looks at is worth asking for. */
function isTold(): boolean {
  return 'Notification' in window && Notification.permission === 'granted';
}

function useAsked(refetchInterval: false | (() => number | false)) {
  const may = useMay();
  return useQuery({
    queryKey: ['approvals', 'waiting'],
    queryFn: () => get<List<Approval>>('/v1/approvals?limit=100'),
    enabled: may('approvals:read'),
    refetchIntervalInBackground: true,
    refetchInterval,
  });
}
