/** Who is signed in. The menu behind it is loaded when it is first opened. */
import { type KeyboardEvent, lazy, Suspense, useState } from 'react';
import { warm } from '../ui/lazily.tsx';
import { AccountFace, accountClass } from './account-face.tsx';

const load = () => import('./account-choices.tsx');
const AccountChoices = lazy(load);
warm(load);

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
