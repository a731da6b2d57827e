/** What needs attention, first on the overview: each with the one action that ends it. Says so when there is nothing. */
import {
  Ban,
  BellOff,
  CalendarX,
  CircleCheck,
  Clock,
  DatabaseBackup,
  Hourglass,
  Inbox,
  type LucideIcon,
  RotateCcw,
  ShieldAlert,
} from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { query } from '../../api/client.ts';
import type { Attention as Facts, Matter } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { RevokeButton } from '../../shared/revoke-button.tsx';
import { VaultText } from '../../shared/vault-name.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { hrefOf } from '../../ui/href.ts';
import { Name } from '../../ui/name.tsx';
import { Section } from '../../ui/page.tsx';
import { Ago } from '../../ui/time.tsx';
import { typeName } from './expiry-timeline.tsx';

type Kind = Matter['kind'];

/** More often than once a minute, so that what has happened is shown within it. */
const every = 15_000;
/** Of each kind, until the person asks for the rest. */
const most = 3;

const icons: Readonly<Record<Kind, LucideIcon>> = {
  log_broken: ShieldAlert,
  expired: CalendarX,
  webhook_failing: BellOff,
  webhook_disabled: BellOff,
  rotation_failing: RotateCcw,
  backup_failed: DatabaseBackup,
  refusals: Ban,
  approvals_waiting: Inbox,
  role_requests_waiting: Inbox,
  proposals_waiting: Inbox,
  expiring: Clock,
  backup_missing: DatabaseBackup,
  unused: Hourglass,
};
const urgent: ReadonlySet<Kind> = new Set([
  'log_broken',
  'expired',
  'webhook_failing',
  'webhook_disabled',
  'rotation_failing',
  'backup_failed',
  'refusals',
]);

export const useAttention = () => useOptional<Facts>('/v1/attention', true, every);

export function Attention() {
  const { data } = useAttention();
  if (!data) return null;
  if (data.matters.length === 0) {
    return (
      <p role="status" className="surface flex items-center gap-2.5 px-4 py-2.5">
        <CircleCheck className="size-4 text-good" aria-hidden />
        <span className="font-medium">Nothing needs attention.</span>
      </p>
    );
  }
  const kinds = [...Map.groupBy(data.matters, ({ kind }) => kind)];
  return (
    <Section title="Needs attention">
      <ul className="-mx-4 -my-4 divide-y divide-line">
        {kinds.map(([kind, matters]) => (
          <Kindred key={kind} matters={matters} />
        ))}
      </ul>
      {!data.complete && (
        <p className="mt-4 border-t pt-3 text-xs text-muted">Only the first 50 of a kind are listed.</p>
      )}
    </Section>
  );
}

/** What is of one kind: the first few, and the rest on demand. */
function Kindred({ matters }: { matters: readonly Matter[] }) {
  const [all, setAll] = useState(false);
  const shown = all ? matters : matters.slice(0, most);
  const hidden = matters.length - shown.length;
  return (
    <>
      {shown.map((matter, index) => (
        <Line key={matter.subject?.id ?? index} matter={matter} />
      ))}
      {hidden > 0 && (
        <li className="px-4 py-1.5 pl-11">
          <Button look="quiet" size="small" className="-ml-2" onClick={() => setAll(true)}>
            Show {hidden} more {wordsFor[matters[0]!.kind]}
          </Button>
        </li>
      )}
    </>
  );
}

const wordsFor: Readonly<Record<Kind, string>> = {
  log_broken: '',
  expired: 'that have expired',
  webhook_failing: 'failing webhooks',
  webhook_disabled: 'disabled webhooks',
  rotation_failing: 'that can’t be rotated',
  backup_failed: '',
  refusals: '',
  approvals_waiting: '',
  role_requests_waiting: '',
  proposals_waiting: '',
  expiring: 'that expire soon',
  backup_missing: '',
  unused: 'unused for 90 days',
};

function Line({ matter }: { matter: Matter }) {
  const Icon = icons[matter.kind];
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1.5 px-4 py-2">
      <Icon className={`size-4 shrink-0 ${urgent.has(matter.kind) ? 'text-bad' : 'text-warn'}`} aria-hidden />
      <span className="min-w-0 flex-1 basis-56">
        <Sentence matter={matter} />
      </span>
      <span className="max-sm:pl-7">
        <Action matter={matter} />
      </span>
    </li>
  );
}

function Sentence({ matter: { kind, subject, since, count, usual } }: { matter: Matter }) {
  const at = since === null ? null : <Ago at={since} />;
  if (kind === 'log_broken') return 'The last verification found a log that was changed.';
  if (kind === 'backup_missing') return 'No backup has been taken by this service.';
  if (kind === 'backup_failed') return <>The last backup failed {at}.</>;
  if (kind === 'refusals')
    return `${count} requests were refused in the last two hours; ${usual} ${usual === 1 ? 'is' : 'are'} usual.`;
  if (subject === null) {
    return (
      <>
        {count} {waitingWord(kind, count)} for a decision, the oldest from {at}.
      </>
    );
  }
  return (
    <>
      <span className={subject.type === 'webhook' ? 'font-medium' : 'font-mono text-xs font-medium'}>
        <Name text={subject.name} />
      </span>{' '}
      <Fate kind={kind}>{at}</Fate>
      <span className="text-xs text-muted">
        {' '}
        · {typeName(subject.type)}
        {subject.vault_id !== null && (
          <>
            {' '}
            in <VaultText id={subject.vault_id} />
          </>
        )}
      </span>
    </>
  );
}

function waitingWord(kind: Kind, count: number): string {
  const one =
    { approvals_waiting: 'call', role_requests_waiting: 'request for access' }[kind as string] ?? 'change';
  if (count === 1) return `${one} waits`;
  return `${one === 'request for access' ? 'requests for access' : `${one}s`} wait`;
}

function Fate({ kind, children: at }: { kind: Kind; children: ReactNode }) {
  if (kind === 'expired') return <>expired {at}</>;
  if (kind === 'expiring') return <>expires {at}</>;
  if (kind === 'webhook_failing') return <>has received nothing since {at}</>;
  if (kind === 'rotation_failing') return <>could not be rotated since {at}, and keeps its value</>;
  if (kind === 'webhook_disabled') return <>was disabled because deliveries failed</>;
  return <>has not been used since {at}</>;
}

/** Where the cause is ended, for what concerns no single record. */
function placeOf({ kind, since }: Matter): readonly [href: string, label: string] {
  if (kind === 'log_broken') return ['/logs/audit', 'Show the log'];
  if (kind === 'refusals')
    return [`/logs/requests${query({ success: 'false', from: since ?? '' })}`, 'Show them'];
  return kind.startsWith('backup') ? ['/settings/about', 'Show backups'] : ['/approvals', 'Decide'];
}

/** The one action that ends it, if the person may take it; otherwise a link to see it. */
function Action({ matter }: { matter: Matter }) {
  const { subject } = matter;
  if (matter.kind === 'rotation_failing') return <Go to={hrefOf(subject!)}>Show</Go>;
  if (subject === null) {
    const [href, label] = placeOf(matter);
    return <Go to={href}>{label}</Go>;
  }
  if (subject.type === 'webhook') return <Go to={`/webhooks/${subject.id}`}>Show deliveries</Go>;
  const isCredential = subject.type === 'api-key' || subject.type === 'access-key';
  return isCredential ? <Revoke matter={matter} /> : <Renew subject={subject} />;
}

function Revoke({ matter: { kind, subject } }: { matter: Matter }) {
  const { type, ...item } = subject!;
  if (!useMay()(`${type}s:write`)) return null;
  const text =
    kind === 'expired'
      ? 'It has expired, and is refused already.'
      : 'Programs that use it will be refused. This can’t be undone.';
  return <RevokeButton collection={`${type}s`} item={item} look="plain" text={text} />;
}

function Renew({ subject }: { subject: NonNullable<Matter['subject']> }) {
  const href = hrefOf(subject);
  if (!useMay()(`${subject.type}s:write`)) return <Go to={href}>Show</Go>;
  if (subject.type === 'certificate') return <Go to={`${href}?renew=1`}>Renew</Go>;
  return <Go to={`${href}?edit=1`}>Set a new {subject.type === 'secret' ? 'value' : 'expiry'}</Go>;
}

function Go({ to, children }: { to: string; children: ReactNode }) {
  return (
    <ButtonLink href={to} size="small">
      {children}
    </ButtonLink>
  );
}
