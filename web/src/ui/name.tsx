/** A name that preferably wraps after its separators. */
import { Fragment } from 'react';

export function Name({ text }: { text: string }) {
  const parts = text.split(/(?<=[_\-./:@])/);
  return (
    <span className="break-words">
      {parts.map((part, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts are identified by position
        <Fragment key={at}>
          {at > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </span>
  );
}
