/**
 * Shows untrusted text exactly: every character, in order, isolated from the text around it. `visible-text.ts` decides
 * which characters are shown as code points.
 */
import { Fragment, type ReactNode, useEffect, useRef, useState } from 'react';
import { Button } from './button.tsx';
import { Scrollable } from './scrollable.tsx';
import { type VisiblePart, visibleParts } from './visible-text.ts';

export function Exact({ text }: { text: string }) {
  return (
    <span dir="ltr" className="exact">
      {visibleParts(text).map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are identified by position
        <Fragment key={at}>{shown(part)}</Fragment>
      ))}
    </span>
  );
}

function shown(part: VisiblePart): ReactNode {
  if (part.kind === 'plain') return part.text;
  return (
    <>
      <span className="exact-escape">
        {part.glyph !== '' && <bdi>{part.glyph}</bdi>}
        {part.code}
      </span>
      {part.character === '\n' && '\n'}
    </>
  );
}

const tailLength = 160;

/** For long texts: shows the length and, if the text doesn't fit, says so and shows how it ends. */
interface BoxProps {
  /** What others named it; set apart from the label. */
  readonly of?: string;
  readonly label: string;
  readonly text: string;
  readonly note?: string;
}

export function ExactBox({ of, label: what, text, note = '' }: BoxProps) {
  const label = of === undefined ? what : `${of} ${what}`;
  const [isOpen, setOpen] = useState(false);
  const { ref, isCut } = useIsCut(isOpen);
  const characters = [...text];
  const count = `${characters.length.toLocaleString('en')} character${characters.length === 1 ? '' : 's'}`;
  const tail = characters.slice(-tailLength).join('');
  return (
    <section aria-label={label} className="flex min-w-0 flex-col gap-1.5">
      <h3 className="text-xs text-muted">
        {of !== undefined && <Exact text={of} />} {what}, {count}
        {note}
      </h3>
      <Scrollable
        label={`${label}, full text`}
        className={`overflow-auto rounded-lg border bg-sunken p-3 ${isOpen ? '' : 'max-h-72'}`}
      >
        <div ref={ref}>
          <Exact text={text} />
        </div>
      </Scrollable>
      {isCut && (
        <div className="flex flex-col items-start gap-1.5 rounded-lg border border-warn/50 p-3 text-xs">
          <p>Not all of the text fits here: {count} in total. Scroll to read it. It ends with:</p>
          <div className="max-h-24 w-full overflow-auto" data-tail>
            <Exact text={tail} />
          </div>
          <Button size="small" onClick={() => setOpen(true)}>
            Show all
          </Button>
        </div>
      )}
    </section>
  );
}

/** Whether the content is taller than its scroll container. */
function useIsCut(isOpen: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const content = ref.current!;
    const box = content.parentElement!;
    const look = () => setCut(!isOpen && box.scrollHeight > box.clientHeight + 1);
    const watcher = new ResizeObserver(look);
    watcher.observe(content);
    watcher.observe(box);
    look();
    return () => watcher.disconnect();
  }, [isOpen]);
  return { ref, isCut };
}
