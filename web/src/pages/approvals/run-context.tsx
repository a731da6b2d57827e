/**
 * What helps to decide about a call: the run that it belongs to, with its last requests, and what is new in comparison
 * with the call that was last approved under the same rule.
 */
import { Link } from 'wouter';
import type { Approval, RequestLog, Run } from '../../api/types.ts';
import { useList, useRecord } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Exact } from '../../ui/exact.tsx';
import { Ago } from '../../ui/time.tsx';

const lastRequests = 10;

export function RunContext({ of: { run_id } }: { of: Approval }) {
  const may = useMay();
  const run = useRecord<Run>('runs', run_id ?? undefined, may('runs:read'));
  const requests = useList<RequestLog>(
    'request-logs',
    { run_id: run_id ?? undefined, limit: lastRequests },
    { enabled: run_id !== null && may('logs:read') },
  );
  if (run_id === null || run.data === undefined) return null;
  const last = requests.data?.data ?? [];
  return (
    <section aria-label="Run" className="flex flex-col gap-1.5">
      <h3 className="text-xs text-muted">
        Part of a <Link href={`/runs/${run_id}`}>run</Link>, whose stated purpose is
      </h3>
      <p>
        <Exact text={run.data.purpose} />
      </p>
      {last.length > 0 && (
        <details>
          <summary className="text-xs text-muted">Its last requests, {last.length}</summary>
          <ul className="mt-1 flex flex-col gap-1 rounded-lg border bg-sunken p-3 font-mono text-xs">
            {last.map(({ id, created_at, requested, status }) => (
              <li key={id} className="break-all">
                {status} <Exact text={requested} /> <Ago at={created_at} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** What differs from the call that was last approved under this rule. */
export function Novelty({ of: approval }: { of: Approval }) {
  const list = useList<Approval>('approvals', {
    state: 'all',
    vault_id: approval.vault_id,
    limit: 100,
  });
  // Its place is kept, so that nothing moves when it is known.
  if (!list.isSuccess) return <p className="min-h-5" />;
  const earlier = list.data.data.find(one => isApproved(one) && one.rule_id === approval.rule_id);
  const marks = earlier === undefined ? ['first call under this rule'] : differences(approval, earlier);
  return (
    <section
      aria-label="What is new"
      className="flex min-h-5 flex-wrap items-center gap-2 text-xs text-muted"
    >
      {earlier === undefined
        ? 'No call was approved under this rule recently:'
        : marks.length === 0
          ? 'The same as the call that was last approved under this rule.'
          : 'Compared with the call that was last approved under this rule:'}
      {marks.map(mark => (
        <Badge key={mark} tone="warn">
          {mark}
        </Badge>
      ))}
    </section>
  );
}

function isApproved({ state }: Approval): boolean {
  return state === 'approved' || state === 'used';
}

/** In words; nothing that was sent is repeated. */
function differences({ request: now }: Approval, { request: before }: Approval): string[] {
  const [one, other] = [URL.parse(now.url), URL.parse(before.url)];
  const isOther = (part: (url: URL) => string) =>
    one === null || other === null ? now.url !== before.url : part(one) !== part(other);
  const marks: readonly (readonly [boolean, string])[] = [
    [now.secret !== before.secret, 'another secret'],
    [now.method !== before.method, 'another method'],
    [isOther(url => url.host), 'another host'],
    [isOther(url => url.pathname), 'another path'],
    [isOther(url => url.search), 'another query'],
    [textOf(now.headers) !== textOf(before.headers), 'other headers'],
    [fieldsOf(now.body) !== fieldsOf(before.body), 'other fields in the body'],
    [now.body !== before.body || now.body_base64 !== before.body_base64, 'another body'],
  ];
  return marks.flatMap(([isNew, mark]) => (isNew ? mark : []));
}

function textOf(headers: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(headers).sort());
}

/** The names of the fields of a JSON object; nothing for any other body. */
function fieldsOf(body: string | null): string {
  try {
    const read = JSON.parse(body ?? 'null') as unknown;
    return typeof read === 'object' && read !== null ? Object.keys(read).sort().join('\n') : '';
  } catch {
    return '';
  }
}
