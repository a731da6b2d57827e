/** How long logs, deleted resources and versions are kept, and how an operator changes that. */
import type { AboutRecord } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';

export function Retention() {
  const { data } = useOptional<AboutRecord>('/v1/about');
  return (
    <Section beside title="Retention">
      <Facts
        facts={[
          ['Request log', data ? daysOf(data.log_retention_days) : ''],
          ['Audit log', data ? daysOf(data.audit_retention_days) : ''],
          ['Trash', '30 days, then deleted permanently'],
          ['Versions', 'as long as the secret or key'],
        ]}
      />
      <p className="mt-4 mb-2 text-xs text-muted">
        Log retention applies to the whole service. The operator sets it with flags, or with
        STRONGROOM_LOG_RETENTION_DAYS and STRONGROOM_AUDIT_RETENTION_DAYS; 0 keeps everything. Older audit log
        entries are in the operator’s archives.
      </p>
      <CodeBlock text="strongroom serve --log-retention-days 365" label="command" />
    </Section>
  );
}

function daysOf(days: number): string {
  if (days === 0) return 'indefinitely';
  return days === 1 ? '1 day' : `${days} days`;
}
