/** The frame of the pages for people who are not signed in yet. */
import { type ReactNode, useEffect } from 'react';
import { Logo } from '../ui/logo.tsx';
import { ThemeSwitch } from '../ui/theme.tsx';

export function SignInFrame({
  title,
  intro,
  children,
}: {
  title: string;
  intro?: ReactNode;
  children: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} – Strongroom`;
  }, [title]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="fixed top-3 right-3">
        <ThemeSwitch />
      </div>
      <div className="w-full max-w-sm">
        <div className="mb-6 flex flex-col items-center gap-3 text-center">
          <Logo className="size-11" />
          <div>
            <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
            {intro && <p className="mt-1 text-muted">{intro}</p>}
          </div>
        </div>
        <div className="surface p-6">{children}</div>
      </div>
    </main>
  );
}
