/** A name that may wrap after its separators, and never in the middle of a word. */
import { Fragment } from 'react';

export function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=[_\-./:@])/);
  return (
    <span className="break-words">
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts have no identity but their place
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
