/** The menu of the person who is signed in: their security, help, and signing out. */
import { BookOpen, Keyboard, LogOut, ShieldCheck } from 'lucide-react';
import { useLocation } from 'wouter';
import { onSessionEnd, post } from '../api/client.ts';
import { Kbd } from '../ui/kbd.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';
import { AccountFace, accountClass } from './account-face.tsx';

export default function AccountChoices({ onShortcuts }: { onShortcuts: () => void }) {
  const [, go] = useLocation();
  async function signOut() {
    onSessionEnd(null); // Signing out must not open the dialog that asks to sign in again.
    await post('/auth/sign-out', {}).catch(() => undefined);
    // A full page load, so that nothing of the session stays in memory.
    window.location.assign('/sign-in');
  }
  return (
    <Menu defaultOpen triggerClass={accountClass} trigger={<AccountFace />}>
      <MenuItem onClick={() => go('/settings/security')}>
        <ShieldCheck className="size-4 text-muted" aria-hidden /> Security
      </MenuItem>
      <MenuItem onClick={onShortcuts}>
        <Keyboard className="size-4 text-muted" aria-hidden />
        <span className="flex-1 pr-6">Keyboard shortcuts</span>
        <Kbd keys="?" />
      </MenuItem>
      <MenuItem onClick={() => window.location.assign('/docs')}>
        <BookOpen className="size-4 text-muted" aria-hidden /> API documentation
      </MenuItem>
      <MenuItem onClick={signOut}>
        <LogOut className="size-4 text-muted" aria-hidden /> Sign out
      </MenuItem>
    </Menu>
  );
}
