/** Who is signed in, and signing out. */
import { ChevronsUpDown, LogOut, ShieldCheck } from 'lucide-react';
import { useLocation } from 'wouter';
import { post } from '../api/client.ts';
import { useSession } from '../session/session.tsx';
import { Menu, MenuItem } from '../ui/menu.tsx';

export function AccountMenu() {
  const { member, organization } = useSession().signedIn;
  const [, go] = useLocation();
  async function signOut() {
    await post('/auth/sign-out', {}).catch(() => undefined);
    // A full page load, so that nothing of the session stays in memory.
    window.location.assign('/sign-in');
  }
  return (
    <Menu
      triggerClass="flex w-full items-center gap-3 rounded-lg px-2 py-1.5 text-left hover:bg-sunken"
      trigger={
        <>
          <span
            aria-hidden
            className="grid size-8 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent-strong uppercase"
          >
            {member.email.slice(0, 2)}
          </span>
          <span className="min-w-0 flex-1 leading-4">
            <span className="sr-only">Account of </span>
            <span className="block truncate text-[13px] font-medium">{member.email}</span>
            <span className="block truncate text-xs text-muted">
              {organization.name} · {member.role}
            </span>
          </span>
          <ChevronsUpDown className="size-4 shrink-0 text-muted" aria-hidden />
        </>
      }
    >
      <MenuItem onClick={() => go('/settings/security')}>
        <ShieldCheck className="size-4" aria-hidden /> Security
      </MenuItem>
      <MenuItem onClick={signOut}>
        <LogOut className="size-4" aria-hidden /> Sign out
      </MenuItem>
    </Menu>
  );
}
