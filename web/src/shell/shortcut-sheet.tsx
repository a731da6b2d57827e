/** Lists the keyboard shortcuts, and turns those of a single key off. */
import { useState } from 'react';
import { Dialog } from '../ui/dialog.tsx';
import { Kbd, withKey } from '../ui/kbd.tsx';
import { usePlaces } from './navigation.tsx';
import { areOn, storageName } from './shortcuts.ts';

export default function ShortcutSheet({ open, onClose }: { open: boolean; onClose: () => void }) {
  const [on, setOn] = useState(areOn);
  const places = usePlaces().flatMap(([, all]) => all);
  function turn(next: boolean) {
    if (next) window.localStorage.removeItem(storageName);
    else window.localStorage.setItem(storageName, 'off');
    setOn(next);
  }
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts" keep={false}>
      <div className="grid gap-x-10 gap-y-5 sm:grid-cols-2">
        <Keys
          title="Anywhere"
          all={[
            ['Search everything', `${withKey} K`],
            ['Search this list', '/'],
            ['Create a new entry on this page', 'N'],
            ['Show keyboard shortcuts', '?'],
            ['Close dialog or panel', 'Esc'],
          ]}
        />
        <Keys title="Go to" all={places.map(({ label, key }) => [label, `G ${key.toUpperCase()}`])} />
      </div>
      <label className="mt-5 flex cursor-pointer items-start gap-2.5 border-t pt-4">
        <input
          type="checkbox"
          className="mt-0.5"
          checked={on}
          onChange={event => turn(event.target.checked)}
        />
        <span>
          Single-key shortcuts
          <span className="block text-xs text-muted">
            Turn these off if you use speech input or press keys by accident. {withKey} K keeps working.
          </span>
        </span>
      </label>
    </Dialog>
  );
}

function Keys({ title, all }: { title: string; all: readonly (readonly [string, string])[] }) {
  return (
    <section>
      <h3 className="mb-1 text-xs font-medium text-muted">{title}</h3>
      <dl>
        {all.map(([what, keys]) => (
          <div key={what} className="flex min-h-7 items-center justify-between gap-4">
            <dt>{what}</dt>
            <dd>
              <span className="sr-only">{keys}</span>
              <Kbd keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
