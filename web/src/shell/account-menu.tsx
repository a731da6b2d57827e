/** Who is signed in. The menu behind it is loaded when it is first opened. */
import { ChevronsUpDown } from 'lucide-react';
import { type KeyboardEvent, lazy, Suspense, useState } from 'react';
import { useSession } from '../session/session.tsx';
import { ownRole } from '../shared/roles.ts';
import { warm } from '../ui/lazily.tsx';

const load = () => import('./account-choices.tsx');
const AccountChoices = lazy(load);
warm(load);

export const accountClass =
  'flex w-full items-center gap-2.5 rounded-lg px-2 py-1.5 text-left transition-colors hover:bg-hover';

export function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const [opened, setOpened] = useState(false);
  const open = () => setOpened(true);
  const openByArrow = ({ key }: KeyboardEvent) => /^Arrow(Up|Down)$/.test(key) && open();
  const closed = (
    <button
      type="button"
      aria-haspopup="menu"
      aria-expanded={false}
      className={accountClass}
      onClick={open}
      onKeyDown={openByArrow}
    >
      <AccountFace />
    </button>
  );
  if (!opened) return closed;
  return (
    <Suspense fallback={closed}>
      <AccountChoices onShortcuts={onShortcuts} />
    </Suspense>
  );
}

/** The role comes first, so that a long name of the organization doesn't hide it. */
export function AccountFace() {
  const { member, organization, grants } = useSession().signedIn;
  const role = ownRole(member.role, grants);
  return (
    <>
      <span
        aria-hidden
        className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-2xs font-semibold text-accent-strong uppercase"
      >
        {member.email.slice(0, 2)}
      </span>
      <span className="min-w-0 flex-1 leading-4">
        <span className="sr-only">Account of </span>
        <span className="block truncate text-xs font-medium" title={member.email}>
          {member.email}
        </span>
        <span className="block truncate text-2xs text-muted">
          {role} · {organization.name}
        </span>
      </span>
      <ChevronsUpDown className="size-3.5 shrink-0 text-muted" aria-hidden />
    </>
  );
}
