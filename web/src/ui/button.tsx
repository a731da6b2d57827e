/** Buttons, and links that look like them. */
import { LoaderCircle } from 'lucide-react';
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';

const looks = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent shadow-(--shadow-control)',
  plain:
    'bg-field text-ink border-line-strong/45 hover:bg-sunken hover:border-line-strong/70 shadow-(--shadow-control)',
  quiet: 'text-muted border-transparent hover:bg-hover hover:text-ink',
  danger:
    'text-bad border-line-strong/45 bg-field hover:border-bad/50 hover:bg-bad-soft shadow-(--shadow-control)',
  destroy: 'bg-bad text-surface border-transparent hover:bg-bad-strong',
} as const;
const sizes = {
  normal: 'h-(--control) px-3',
  small: 'h-(--control-small) px-2 text-xs',
  icon: 'size-(--control-small) justify-center',
} as const;

export interface ButtonLook {
  readonly look?: keyof typeof looks;
  readonly size?: keyof typeof sizes;
}

export function buttonClass({ look = 'plain', size = 'normal' }: ButtonLook): string {
  return `inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-lg border font-medium transition-colors disabled:opacity-55 aria-disabled:cursor-not-allowed aria-disabled:opacity-55 ${looks[look]} ${sizes[size]}`;
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> &
  ButtonLook & { readonly busy?: boolean; readonly ref?: React.Ref<HTMLButtonElement> };

export function Button({ look, size, busy = false, children, className = '', ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-busy={busy || undefined}
      disabled={rest.disabled || busy}
      className={`${buttonClass({ look, size })} ${className}`}
    >
      {busy && <LoaderCircle className="size-4 animate-spin" aria-hidden />}
      {children}
    </button>
  );
}

export function ButtonLink({
  href,
  children,
  ...look
}: ButtonLook & { readonly href: string; readonly children: ReactNode }) {
  return (
    <Link href={href} className={buttonClass(look)}>
      {children}
    </Link>
  );
}
