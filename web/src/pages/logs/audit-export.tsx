/** Takes the filtered audit log along as JSON Lines, page by page, newest first. */
import { Download } from 'lucide-react';
import { useState } from 'react';
import { get, query, sentence } from '../../api/client.ts';
import type { AuditLog, List } from '../../api/types.ts';
import { Button } from '../../ui/button.tsx';
import { note } from '../../ui/toast.tsx';

/** Beyond this the command line does it better: it reads the database itself. */
const mostEntries = 10_000;

export function AuditExport({ filter }: { filter: Readonly<Record<string, string>> }) {
  const [busy, setBusy] = useState(false);
  async function run() {
    setBusy(true);
    try {
      const { lines, total } = await collect(filter);
      download(lines.join(''));
      if (total > lines.length)
        note(`The newest ${lines.length} of ${total} entries. Narrow the time for the others.`);
    } catch (error) {
      note(sentence(error), { bad: true });
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button onClick={run} busy={busy}>
      <Download className="size-4" aria-hidden /> JSONL
    </Button>
  );
}

async function collect(filter: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  let total = 0;
  // New entries would shift the pages: nothing newer than the start is asked for.
  const until = filter.to || new Date().toISOString();
  for (let page = 1; lines.length < mostEntries; page++) {
    const list = await get<List<AuditLog>>(
      `/v1/audit-logs${query({ ...filter, to: until, page, limit: 100 })}`,
    );
    total = list.pagination.total;
    lines.push(...list.data.map(entry => `${JSON.stringify(entry)}\n`));
    if (list.data.length < 100) break;
  }
  return { lines, total };
}

function download(text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/jsonl' }));
  link.download = 'audit-logs.jsonl';
  link.click();
  URL.revokeObjectURL(link.href);
}
