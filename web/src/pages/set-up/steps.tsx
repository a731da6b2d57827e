/** The frame of the setup pages, which shows the four steps and the current one. */
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';
import { Logo } from '../../ui/logo.tsx';

export const steps = ['Owner', 'Organization', 'First secret', 'Read it'] as const;

interface StepsProps {
  readonly at: number;
  readonly title: string;
  readonly intro: ReactNode;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

export function Steps({ at, title, intro, children, wide = false }: StepsProps) {
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-3xl flex-col items-center px-4 py-10 sm:justify-center">
      <div className="mb-8 flex items-center gap-2.5 text-lg font-semibold tracking-tight">
        <Logo className="size-8" /> Strongroom
      </div>
      <ol aria-label="Steps" className="mb-6 flex flex-wrap items-center justify-center gap-x-2 gap-y-1">
        {steps.map((step, index) => (
          <Step key={step} name={step} number={index + 1} done={index < at} here={index === at} />
        ))}
      </ol>
      <div className={`surface w-full ${wide ? 'max-w-2xl' : 'max-w-md'} p-6 sm:p-8`}>
        <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
        <p className="mt-1 mb-6 text-muted">{intro}</p>
        {children}
      </div>
    </main>
  );
}

function Step({ name, number, done, here }: { name: string; number: number; done: boolean; here: boolean }) {
  const look = here
    ? 'bg-accent text-on-accent'
    : done
      ? 'bg-accent-soft text-accent-strong'
      : 'bg-sunken text-muted';
  return (
    <li aria-current={here ? 'step' : undefined} className="flex items-center gap-2 text-xs">
      <span className={`grid size-6 place-items-center rounded-full text-xs font-semibold ${look}`}>
        {done ? <Check className="size-3.5" aria-label="done" /> : number}
      </span>
      <span className={here ? 'font-medium' : 'text-muted'}>{name}</span>
      {number < steps.length && <span aria-hidden className="mx-1 h-px w-5 bg-line-strong/60" />}
    </li>
  );
}
