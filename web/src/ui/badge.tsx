/** A short coloured label. The words carry the meaning; the colour only helps. */
import type { ReactNode } from 'react';

const tones = {
  neutral: 'bg-sunken text-muted',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent-strong',
} as const;

export type Tone = keyof typeof tones;

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-md px-1.5 py-px text-xs leading-5 font-medium whitespace-nowrap ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

export function TagList({ tags }: { tags: Readonly<Record<string, string>> }) {
  const all = Object.entries(tags);
  if (all.length === 0) return null;
  return (
    <span className="flex flex-wrap gap-1">
      {all.map(([name, value]) => (
        <Badge key={name}>{value === '' ? name : `${name}: ${value}`}</Badge>
      ))}
    </span>
  );
}
