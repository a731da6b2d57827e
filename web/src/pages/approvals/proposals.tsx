/** Writes to vaults with review that wait for someone else, each with everything that it would change. */
import { useEffect, useRef, useState } from 'react';
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { Proposal, ProposedChange, RevealedProposal } from '../../api/types.ts';
import { useList, useRecord, useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { VaultExact } from '../../shared/vault-exact.tsx';
import { Who } from '../../shared/who.tsx';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { useDecision } from '../../ui/decision.ts';
import { IgnoredClick } from '../../ui/decision-hint.tsx';
import { Exact, ExactBox } from '../../ui/exact.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Section } from '../../ui/page.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useShown } from '../../ui/shown.ts';
import { TextField } from '../../ui/text-field.tsx';
import { Ago } from '../../ui/time.tsx';
import { note } from '../../ui/toast.tsx';
import type { Steady } from './steady.ts';

/** The outcome of a linked proposal that is no longer waiting. */
export function LinkedProposal({ id, among }: { id: string; among: readonly Proposal[] }) {
  const { data } = useRecord<Proposal>('proposals', id);
  if (data === undefined || among.some(one => one.id === id)) return null;
  return (
    <p role="status" className="surface px-5 py-4">
      The write you followed a link to is no longer waiting: <State of={data} />
    </p>
  );
}

const tones: Readonly<Record<Proposal['state'], Tone>> = {
  pending: 'warn',
  confirmed: 'good',
  rejected: 'bad',
  expired: 'neutral',
  outdated: 'neutral',
  bypassed: 'bad',
};

function State({ of: { state } }: { of: Proposal }) {
  return <Badge tone={tones[state]}>{state === 'bypassed' ? 'without review' : state}</Badge>;
}

const words: Readonly<Record<ProposedChange['action'], string>> = {
  create: 'Create',
  update: 'Change',
  roll_back: 'Roll back',
  rotate: 'Rotate',
  delete: 'Delete',
  purge: 'Delete permanently',
  restore: 'Restore',
};

interface Shown extends Steady<Proposal> {
  readonly isMeant: boolean;
}

export function ProposalCard({ of: proposal, isMeant, isGone }: Shown) {
  const { author, vault_id, changes, created_at, expires_at, state } = proposal;
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isMeant) box.current?.scrollIntoView({ block: 'center' });
  }, [isMeant]);
  return (
    <article
      ref={box}
      aria-label={titleOf(proposal)}
      className={`surface flex flex-col gap-4 px-5 py-4 ${isMeant ? 'ring-2 ring-accent' : ''}`}
    >
      <div className="min-w-0">
        <h2 className="font-semibold">
          <Title of={proposal} /> in <VaultExact id={vault_id} />
        </h2>
        <p className="text-xs text-muted">
          <PartyName party={author} />, <Ago at={created_at} />, expires <Ago at={expires_at} />
        </p>
      </div>
      {changes.filter(isMoreThanTitle).map(change => (
        <Change key={change.id} of={change} />
      ))}
      <Values of={proposal} isGone={isGone} />
      {state === 'outdated' ? (
        <p role="status" className="text-muted">
          What this would change was changed since. It can only be rejected.
        </p>
      ) : null}
      <Decision of={proposal} isGone={isGone} />
    </article>
  );
}

function titleOf({ changes: [first, ...others] }: Proposal): string {
  const { action, type, name } = first!;
  return `${words[action]} ${type} ${name}${others.length === 0 ? '' : ` and ${others.length} more`}`;
}

/** Only the name is set apart, because only the name was chosen by others. */
function Title({ of: { changes } }: { of: Proposal }) {
  const [{ action, type, name }, ...others] = changes as [ProposedChange, ...ProposedChange[]];
  return (
    <>
      {words[action]} {type} <Exact text={name} />
      {others.length > 0 && ` and ${others.length} more`}
    </>
  );
}

/** One that is deleted or restored by itself is told by the title. */
function isMoreThanTitle(
  { new_value, difference }: ProposedChange,
  _: number,
  all: readonly ProposedChange[],
) {
  return all.length > 1 || new_value || difference.length > 0;
}

function Change({ of: { action, type, name, new_value, difference } }: { of: ProposedChange }) {
  return (
    <section aria-label={`${words[action]} ${type} ${name}`} className="flex flex-col gap-1.5">
      <h3 className="text-xs text-muted">
        {words[action]} {type} <Exact text={name} />
        {new_value && ', with a new value'}
      </h3>
      {difference.length > 0 && (
        <ul className="flex flex-col gap-1 rounded-lg border bg-sunken p-3">
          {difference.map(({ field, before, after }) => (
            <li key={field} className="grid gap-x-4 sm:grid-cols-[minmax(6.5rem,14rem)_1fr]">
              <span className="min-w-0 font-semibold">
                <Exact text={fieldOf(field)} />
              </span>
              <span className="min-w-0 break-words">
                {before !== null && (
                  <del className="text-bad">
                    <Exact text={before} />
                  </del>
                )}
                {before !== null && after !== null && <span className="text-muted"> → </span>}
                {after !== null && (
                  <ins className="text-good no-underline">
                    <Exact text={after} />
                  </ins>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The names of tags are shown as they are. */
function fieldOf(field: string): string {
  return field.startsWith('tags.') ? field : field.replaceAll('_', ' ');
}

/** The old and new values, on request: showing them is recorded. */
function Values({ of: { id, changes }, isGone }: Steady<Proposal>) {
  const may = useMay();
  const form = useForm({});
  const shown = useShown<RevealedProposal['data']>();
  if (!may('secrets:reveal') || !changes.some(change => change.new_value)) return null;
  const reveal = form.submit(async () =>
    shown.show((await post<RevealedProposal>(`/v1/proposals/${id}/reveal`)).data),
  );
  if (shown.value === null) {
    return (
      <div className="flex flex-col items-start gap-2">
        <Problem text={form.problem} />
        <Button
          size="small"
          disabled={isGone}
          busy={form.busy}
          onClick={reveal}
          title="It is recorded that you see them"
        >
          Show values
        </Button>
      </div>
    );
  }
  return (
    <div className="flex flex-col gap-3">
      {shown.value.map(({ id: resource, name, before, after }) => (
        <div key={resource} className="flex flex-col gap-2">
          {before !== null && <ExactBox of={name} label="now" text={before} />}
          {after !== null && <ExactBox of={name} label="proposed" text={after} />}
        </div>
      ))}
      <Button size="small" className="self-start" onClick={shown.hide}>
        Hide values ({shown.secondsLeft} s)
      </Button>
    </div>
  );
}

/** Writing without review is for emergencies, and everyone is told. */
function Bypass({ of: { id, vault_id } }: { of: Proposal }) {
  const may = useMay()('proposals:bypass', vault_id);
  const [open, setOpen] = useState(false);
  const form = useForm({ reason: '' });
  const refresh = useRefresh();
  if (!may) return null;
  const close = () => {
    setOpen(false);
    form.reset();
  };
  const write = async ({ reason }: { reason: string }) => {
    await post(`/v1/proposals/${id}/confirm?bypass=true`, { reason });
    close();
    note('Written without review');
    await refresh(...written);
  };
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        Write without review
      </Button>
      {open && (
        <FormDialog
          title="Write without review?"
          description="Nobody else checks it. Your name and the reason are recorded in the audit log, sent to webhooks, and listed here for everyone."
          form={form}
          onSubmit={write}
          onClose={close}
          action="Write without review"
        >
          <TextField form={form} name="reason" label="Reason" required maxLength={500} />
        </FormDialog>
      )}
    </>
  );
}

/** What a confirmation may have changed. */
const written = ['proposals', 'secrets', 'keys', 'certificates', 'vaults', 'versions', 'resources'] as const;

function Decision({ of: proposal, isGone }: Steady<Proposal>) {
  const { id, own, state } = proposal;
  const may = useMay()('proposals:write');
  const form = useForm({});
  const refresh = useRefresh();
  const { area, isReady, isIgnored, guarded } = useDecision();
  const [done, setDone] = useState('');
  const decide = (path: 'confirm' | 'reject', done: string) =>
    guarded(
      form.submit(async () => {
        await post(`/v1/proposals/${id}/${path}`);
        setDone(done);
        note(done);
        await refresh(...written);
      }),
    );
  if (!may) return <p className="text-muted">You don’t have permission to confirm or reject writes.</p>;
  return (
    <div ref={area} className="flex flex-col gap-3">
      {own && <p className="text-muted">You proposed this: someone else has to confirm it.</p>}
      <Problem text={form.problem} />
      {(isGone || done !== '') && (
        <p role="status" className="flex min-h-(--control) items-center text-muted">
          {done || 'This write is no longer waiting.'}
        </p>
      )}
      <div hidden={isGone || done !== ''} className="flex flex-wrap gap-2 [&[hidden]]:hidden">
        {!own && state === 'pending' && (
          <Button
            look="primary"
            busy={form.busy}
            aria-disabled={!isReady}
            onClick={decide('confirm', 'Confirmed')}
          >
            Confirm
          </Button>
        )}
        <Button
          look="danger"
          disabled={form.busy}
          aria-disabled={!isReady}
          onClick={decide('reject', own ? 'Withdrawn' : 'Rejected')}
        >
          {own ? 'Withdraw' : 'Reject'}
        </Button>
        {state === 'pending' && <Bypass of={proposal} />}
      </div>
      {isIgnored && <IgnoredClick />}
    </div>
  );
}

function useDecided(enabled: boolean): readonly Proposal[] {
  const list = useList<Proposal>('proposals', { state: 'all', limit: 20 }, { enabled });
  return (list.data?.data ?? []).filter(({ state }) => state !== 'pending' && state !== 'outdated');
}

export function DecidedProposals() {
  const decided = useDecided(useMay()('proposals:read'));
  if (decided.length === 0) return null;
  return (
    <Section
      title="Earlier writes"
      intro="In vaults with review, someone other than the author confirms every write."
    >
      <ul aria-label="Decided writes" className="flex flex-col gap-3">
        {decided.map(one => (
          <li key={one.id} className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
            <span className="min-w-0">
              <span className="block">
                <Title of={one} /> in <VaultExact id={one.vault_id} />
              </span>
              <span className="text-xs text-muted">
                <PartyName party={one.author} />, <Ago at={one.created_at} />
                {one.decided_by !== null && (
                  <>
                    , decided by <PartyName party={one.decided_by} />
                  </>
                )}
                {one.reason !== null && (
                  <>
                    , because: <Exact text={one.reason} />
                  </>
                )}
              </span>
            </span>
            <State of={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** People without the permission to see members see an id. */
function PartyName({ party: { id, name } }: { party: Proposal['author'] }) {
  return name === null ? <Who id={id} /> : <Exact text={name} />;
}
