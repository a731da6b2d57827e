/** Buttons, and links that look like them. */
import { LoaderCircle } from 'lucide-react';
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';

const looks = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent shadow-sm',
  plain: 'bg-surface text-ink border-line-strong/60 hover:bg-sunken shadow-[0_1px_1px_rgb(0_0_0/0.04)]',
  quiet: 'text-muted border-transparent hover:bg-sunken hover:text-ink',
  danger: 'text-bad border-bad/50 bg-surface hover:bg-bad-soft',
  destroy: 'bg-bad text-surface border-transparent hover:bg-bad-strong',
} as const;
const sizes = {
  normal: 'h-9 px-3.5',
  small: 'h-8 px-2.5 text-[13px]',
  icon: 'size-8 justify-center',
} as const;

export interface ButtonLook {
  readonly look?: keyof typeof looks;
  readonly size?: keyof typeof sizes;
}

export function buttonClass({ look = 'plain', size = 'normal' }: ButtonLook): string {
  return `inline-flex shrink-0 items-center justify-center gap-2 whitespace-nowrap rounded-lg border font-medium transition-colors disabled:opacity-60 ${looks[look]} ${sizes[size]}`;
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
