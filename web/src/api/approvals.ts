/**
 * Calls of agents that wait for a person. They are asked for every second while somebody is there, so that one arrives
 * within a second; a page that nobody touched for an hour asks no more, because that would keep its session alive.
 */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useMay } from '../session/session.tsx';
import { get } from './client.ts';
import type { Approval, List } from './types.ts';

const everySecond = 900;
const inBackground = 10_000;
const attention = 60 * 60 * 1000;

export function useWaiting() {
  const may = useMay();
  const touched = useRef(Date.now());
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
  return useQuery({
    queryKey: ['approvals', 'waiting'],
    queryFn: () => get<List<Approval>>('/v1/approvals?limit=100'),
    enabled: may('approvals:read'),
    staleTime: 0,
    refetchIntervalInBackground: true,
    refetchInterval: () => {
      if (Date.now() - touched.current > attention) return false;
      return document.hidden ? inBackground : everySecond;
    },
  });
}
