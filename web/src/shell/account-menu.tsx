/** Who is signed in, help, and signing out. */
import { BookOpen, ChevronsUpDown, Keyboard, LogOut, ShieldCheck } from 'lucide-react';
import { useLocation } from 'wouter';
import { onSessionEnd, post } from '../api/client.ts';
import { useSession } from '../session/session.tsx';
import { ownRole } from '../shared/roles.ts';
import { Kbd } from '../ui/kbd.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';

export function AccountMenu({ onShortcuts }: { onShortcuts: () => void }) {
  const { member, organization, grants } = useSession().signedIn;
  const [, go] = useLocation();
  async function signOut() {
    onSessionEnd(null); // Signing out must not open the dialog that asks to sign in again.
    await post('/auth/sign-out', {}).catch(() => undefined);
    // A full page load, so that nothing of the session stays in memory.
    window.location.assign('/sign-in');
  }
  return (
    <Menu
      triggerClass="flex w-full items-center gap-2.5 rounded-lg px-2 py-1.5 text-left transition-colors hover:bg-hover"
      trigger={
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
              {organization.name} · {ownRole(member.role, grants)}
            </span>
          </span>
          <ChevronsUpDown className="size-3.5 shrink-0 text-muted" aria-hidden />
        </>
      }
    >
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
