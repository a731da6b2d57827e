/** The main navigation. Pages that a person can't read are not offered. */
import {
  Activity,
  Fingerprint,
  Inbox,
  KeyRound,
  LayoutDashboard,
  ScrollText,
  Settings,
  Vault,
  Webhook,
} from 'lucide-react';
import { Link, useLocation } from 'wouter';
import { useWaiting } from '../api/approvals.ts';
import { useMay } from '../session/session.tsx';
import { Badge } from '../ui/badge.tsx';

const places = [
  { href: '/', label: 'Overview', icon: LayoutDashboard, needs: '' },
  { href: '/vaults', label: 'Vaults', icon: Vault, needs: 'vaults:read' },
  { href: '/access', label: 'Access', icon: KeyRound, needs: 'access-keys:read' },
  { href: '/identities', label: 'Identities', icon: Fingerprint, needs: 'identities:read' },
  { href: '/approvals', label: 'Approvals', icon: Inbox, needs: 'approvals:read' },
  { href: '/logs/requests', label: 'Request log', icon: Activity, needs: 'logs:read' },
  { href: '/logs/audit', label: 'Audit log', icon: ScrollText, needs: 'logs:read' },
  { href: '/webhooks', label: 'Webhooks', icon: Webhook, needs: 'webhooks:read' },
  { href: '/settings', label: 'Settings', icon: Settings, needs: '' },
] as const;

export function Navigation({ onGo }: { onGo?: () => void }) {
  const [location] = useLocation();
  const may = useMay();
  const waiting = useWaiting().data?.pagination.total ?? 0;
  const shown = places.filter(({ needs }) => needs === '' || may(needs));
  return (
    <nav aria-label="Main" className="flex flex-col gap-0.5">
      {shown.map(({ href, label, icon: Icon }) => {
        const isHere = href === '/' ? location === '/' : location.startsWith(href);
        return (
          <Link
            key={href}
            href={href}
            onClick={onGo}
            aria-current={isHere ? 'page' : undefined}
            className={`flex items-center gap-3 rounded-lg px-3 py-1.5 font-medium transition-colors ${isHere ? 'bg-accent-soft text-accent-strong' : 'text-muted hover:bg-sunken hover:text-ink'}`}
          >
            <Icon className="size-4 shrink-0" aria-hidden />
            {label}
            {href === '/approvals' && waiting > 0 && (
              <Badge tone="warn">
                {waiting}
                <span className="sr-only"> waiting</span>
              </Badge>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
