/** The main navigation, in groups. Pages that a person can't read are not offered. */
import {
  Activity,
  Bot,
  Fingerprint,
  Inbox,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  ScrollText,
  Settings,
  Vault,
  Webhook,
} from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { useMay } from '../session/session.tsx';
import { useWaitingCount } from '../shared/approvals.ts';
import { Kbd } from '../ui/kbd.tsx';

export interface Place {
  readonly href: string;
  readonly label: string;
  readonly icon: LucideIcon;
  /** One of these permissions, separated by spaces; none if empty. */
  readonly needs: string;
  /** The shortcut: g, then this key. */
  readonly key: string;
}

const groups: readonly (readonly [name: string, places: readonly Place[]])[] = [
  [
    '',
    [
      { href: '/', label: 'Overview', icon: LayoutDashboard, needs: '', key: 'o' },
      { href: '/vaults', label: 'Vaults', icon: Vault, needs: 'vaults:read', key: 'v' },
    ],
  ],
  [
    'Access control',
    [
      { href: '/access', label: 'Access', icon: KeyRound, needs: 'access-keys:read', key: 'a' },
      { href: '/identities', label: 'Identities', icon: Fingerprint, needs: 'identities:read', key: 'i' },
      {
        href: '/approvals',
        label: 'Approvals',
        icon: Inbox,
        needs: 'approvals:read proposals:write',
        key: 'p',
      },
      { href: '/runs', label: 'Runs', icon: Bot, needs: 'runs:read', key: 'u' },
    ],
  ],
  [
    'Activity',
    [
      { href: '/logs/requests', label: 'Request log', icon: Activity, needs: 'logs:read', key: 'r' },
      { href: '/logs/audit', label: 'Audit log', icon: ScrollText, needs: 'logs:read', key: 'l' },
      { href: '/webhooks', label: 'Webhooks', icon: Webhook, needs: 'webhooks:read', key: 'w' },
    ],
  ],
  ['', [{ href: '/settings', label: 'Settings', icon: Settings, needs: '', key: 's' }]],
];

/** The pages that the person may open. */
export function usePlaces(): typeof groups {
  const may = useMay();
  return groups
    .map(
      ([name, places]) =>
        [name, places.filter(({ needs }) => needs === '' || needs.split(' ').some(one => may(one)))] as const,
    )
    .filter(([, places]) => places.length > 0);
}

export function Navigation({ onGo }: { onGo?: () => void }) {
  return (
    <nav aria-label="Main" className="flex flex-col gap-4">
      {usePlaces().map(([name, places]) => (
        <div key={places[0]!.href} className="flex flex-col gap-px">
          {name !== '' && <p className="px-2 pb-1 text-2xs font-medium text-muted">{name}</p>}
          {places.map(place => (
            <PlaceLink key={place.href} place={place} onGo={onGo} />
          ))}
        </div>
      ))}
    </nav>
  );
}

function PlaceLink({ place, onGo }: { place: Place; onGo?: (() => void) | undefined }) {
  const { href, label, icon: Icon, key } = place;
  const [location] = useLocation();
  const isHere = href === '/' ? location === '/' : location.startsWith(href);
  return (
    <Link
      href={href}
      onClick={onGo}
      aria-current={isHere ? 'page' : undefined}
      className={`group flex h-7.5 items-center gap-2.5 rounded-lg px-2 font-medium transition-colors max-lg:h-10 ${isHere ? 'bg-hover text-ink' : 'text-muted hover:bg-hover hover:text-ink'}`}
    >
      <Icon className={`size-4 shrink-0 ${isHere ? 'text-accent' : ''}`} aria-hidden />
      <span className="flex-1">{label}</span>
      {href === '/approvals' && <Waiting />}
      <span className="hidden group-hover:inline-flex max-lg:group-hover:hidden">
        <Kbd keys={`G ${key.toUpperCase()}`} />
      </span>
    </Link>
  );
}

function Waiting() {
  const waiting = useWaitingCount();
  if (waiting === 0) return null;
  return (
    <span className="grid h-4.5 min-w-4.5 place-items-center rounded-full bg-warn-soft px-1 text-2xs font-semibold text-warn tabular-nums">
      {waiting}
      <span className="sr-only"> waiting</span>
    </span>
  );
}
