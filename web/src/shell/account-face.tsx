/** Who is signed in, as the button of the menu shows it. */
import { ChevronsUpDown } from 'lucide-react';
import { useSession } from '../session/session.tsx';
import { ownRole } from '../shared/roles.ts';

export const accountClass =
  'flex w-full items-center gap-2.5 rounded-lg px-2 py-1.5 text-left transition-colors hover:bg-hover';

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
