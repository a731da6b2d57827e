/** Copies text, including values that are not shown on the page. */
import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { sentence } from '../api/client.ts';
import { Button, type ButtonLook } from './button.tsx';
import { Scrollable } from './scrollable.tsx';
import { note } from './toast.tsx';

/** Passing a promise keeps the browser's permission to copy while the text is fetched from the service. */
async function toClipboard(text: string | Promise<string>): Promise<void> {
  if (typeof text === 'string') return navigator.clipboard.writeText(text);
  const blob = text.then(value => new Blob([value], { type: 'text/plain' }));
  await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
}

interface CopyProps extends ButtonLook {
  /** The text, or a function that fetches it when the button is pressed. */
  readonly text: string | (() => Promise<string>);
  readonly label: string;
  readonly shown?: boolean;
  readonly onCopied?: () => void;
}

export function CopyButton({ text, label, shown = false, look = 'quiet', size, onCopied }: CopyProps) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  async function copy() {
    const wanted = typeof text === 'string' ? text : text();
    try {
      await toClipboard(wanted);
      setDone(true);
      onCopied?.();
    } catch {
      const failure = await Promise.resolve(wanted).then(() => null, sentence);
      note(failure ?? 'The browser doesn’t allow copying here.', { bad: true });
    }
  }
  const Icon = done ? Check : Copy;
  return (
    <Button
      look={look}
      size={size ?? (shown ? 'small' : 'icon')}
      aria-label={label}
      title={label}
      onClick={copy}
    >
      <Icon key={String(done)} className={`size-4 ${done ? 'pop text-good' : ''}`} aria-hidden />
      {shown && <span aria-hidden>{done ? 'Copied' : label}</span>}
      <span className="sr-only" aria-live="polite">
        {done ? 'Copied' : ''}
      </span>
    </Button>
  );
}

/** A piece of text to copy, such as a command. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <div className="relative rounded-lg border bg-sunken">
      <Scrollable label={label} className="overflow-x-auto">
        <pre className="w-fit py-2.5 pr-12 pl-3 font-mono text-xs leading-5">{text}</pre>
      </Scrollable>
      <div className="absolute top-1.5 right-1.5 rounded-lg bg-sunken">
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
    </div>
  );
}
