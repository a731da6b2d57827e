/** A curl command and an MCP configuration to copy and, while the access key is known, to try with one click. */
import { CircleCheck, CircleX, Play } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { CodeBlock } from '../ui/copy.tsx';
import { type Connection, curlLine, mcpConfiguration, type Tried, tryCurl, tryMcp } from './connection.ts';

export function TryLines({ connection }: { connection: Connection }) {
  return (
    <div className="flex flex-col gap-5">
      <Line
        title="With curl"
        label="curl command"
        text={curlLine(connection)}
        attempt={connection.accessKey ? () => tryCurl(connection) : undefined}
      />
      <Line
        title="With an assistant (MCP)"
        label="MCP configuration"
        text={mcpConfiguration(connection)}
        attempt={connection.accessKey ? () => tryMcp(connection) : undefined}
      />
    </div>
  );
}

interface LineProps {
  readonly title: string;
  readonly label: string;
  readonly text: string;
  readonly attempt: (() => Promise<Tried>) | undefined;
}

function Line({ title, label, text, attempt }: LineProps) {
  const [tried, setTried] = useState<Tried | null>(null);
  const [busy, setBusy] = useState(false);
  async function run() {
    setBusy(true);
    setTried(await attempt!().catch(() => ({ ok: false, text: 'Can’t reach the service.' })));
    setBusy(false);
  }
  const Icon = tried?.ok ? CircleCheck : CircleX;
  return (
    <div className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-3">
        <h2 className="font-medium">{title}</h2>
        {attempt && (
          <Button size="small" busy={busy} onClick={run} aria-label={`Try it: ${label}`}>
            <Play className="size-3.5" aria-hidden /> Try it
          </Button>
        )}
      </div>
      <CodeBlock text={text} label={label} />
      <div aria-live="polite">
        {tried && (
          <p className={`flex items-start gap-2 ${tried.ok ? 'text-good' : 'text-bad'}`}>
            <Icon className="mt-1 size-4 shrink-0" aria-hidden /> {tried.text}
          </p>
        )}
      </div>
    </div>
  );
}
