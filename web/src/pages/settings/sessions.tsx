/** The person's sessions, with buttons to end them. */
import { useQuery } from '@tanstack/react-query';
import { get, remove } from '../../api/client.ts';
import type { Session } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Badge } from '../../ui/badge.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';

export function Sessions() {
  const found = useQuery({
    queryKey: ['sessions'],
    queryFn: () => get<{ data: Session[] }>('/auth/sessions'),
  });
  return (
    <Section
      beside
      title="Sessions"
      intro="Where you are signed in. If you don’t recognise a session, end it and change your password."
    >
      <ul className="divide-y rounded-lg border">
        {(found.data?.data ?? []).map(session => (
          <SessionRow key={session.id} session={session} />
        ))}
      </ul>
    </Section>
  );
}

function SessionRow({ session }: { session: Session }) {
  const refresh = useRefresh();
  async function end() {
    await remove(`/auth/sessions/${session.id}`);
    await refresh('sessions');
    note('Session ended');
  }
  return (
    <li className="flex flex-wrap items-center justify-between gap-3 px-4 py-2.5">
      <span className="min-w-0">
        <span className="flex flex-wrap items-center gap-2 font-medium">
          {browserOf(session.user_agent)} {session.current && <Badge tone="accent">this session</Badge>}
        </span>
        <span className="block text-xs text-muted">
          {session.ip_address}, signed in <Ago at={session.created_at} />, last used{' '}
          <Ago at={session.used_at} />
        </span>
      </span>
      {!session.current && (
        <ConfirmButton
          look="quiet"
          size="small"
          label="End"
          name={`End the session from ${session.ip_address}`}
          title="End this session?"
          text="The browser is signed out immediately."
          action="End session"
          onConfirm={end}
        />
      )}
    </li>
  );
}

const browsers = [
  ['Edg/', 'Edge'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Mac OS', 'macOS'],
  ['Windows', 'Windows'],
  ['Linux', 'Linux'],
] as const;

function browserOf(agent: string): string {
  const browser = browsers.find(([mark]) => agent.includes(mark))?.[1] ?? 'Unknown browser';
  const system = systems.find(([mark]) => agent.includes(mark))?.[1];
  return system ? `${browser} on ${system}` : browser;
}
