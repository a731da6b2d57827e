/**
 * Short labels. A state has a dot in its colour; a tag or a kind has a thin border. The words carry the meaning; colour
 * is only an aid, and only abnormal states have one.
 */
import type { ReactNode } from 'react';
import { Name } from './name.tsx';

const tones = {
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  accent: 'text-accent-strong',
} as const;

export type Tone = keyof typeof tones | 'neutral';

/** For tags, including those that are buttons. */
export const tagClass =
  'inline-flex items-center rounded-md border px-1.5 text-left text-xs text-muted transition-colors';

export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  if (tone === 'neutral') return <span className={`${tagClass} whitespace-nowrap`}>{children}</span>;
  return (
    <span className={`inline-flex items-center gap-1.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}>
      <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-current" />
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
        <span key={name} className={tagClass}>
          <TagText name={name} value={value} />
        </span>
      ))}
    </span>
  );
}

export function TagText({ name, value }: { name: string; value: string }) {
  return value === '' ? <Name text={name} /> : <Name text={`${name}: ${value}`} />;
}
