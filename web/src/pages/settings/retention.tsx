/** What is kept how long, and how an operator changes what can be changed. */
import type { AboutRecord } from '../../api/types.ts';
import { useOptional } from '../../api/use.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Section } from '../../ui/page.tsx';

export function Retention() {
  const { data } = useOptional<AboutRecord>('/v1/about');
  return (
    <Section title="Retention">
      <Facts
        facts={[
          ['Request log', data ? daysOf(data.log_retention_days) : ''],
          ['Audit log', 'for good'],
          ['Trash', '30 days, and restorable until then'],
          ['Versions', 'as long as the secret or key itself'],
        ]}
      />
      <p className="mt-4 mb-2 text-[13px] text-muted">
        How long the request log is kept holds for the whole service. Whoever starts it decides, with a flag
        or with STRONGROOM_LOG_RETENTION_DAYS; 0 keeps everything.
      </p>
      <CodeBlock text="strongroom serve --log-retention-days 365" label="command" />
    </Section>
  );
}

function daysOf(days: number): string {
  if (days === 0) return 'for good';
  return days === 1 ? '1 day' : `${days} days`;
}
