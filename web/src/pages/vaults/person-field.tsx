/** A field for a person's email address, which suggests the members that there are. */
import { Autocomplete as Base } from '@base-ui/react/autocomplete';
import { useState } from 'react';
import type { Member } from '../../api/types.ts';
import { useList } from '../../api/use.ts';
import { Field } from '../../ui/field.tsx';

interface PersonFieldProps {
  readonly value: string;
  readonly onChange: (email: string) => void;
  readonly error: string;
}

const most = 8;

export function PersonField({ value, onChange, error }: PersonFieldProps) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const list = useList<Member>('members', { q: value.trim().slice(0, 255), limit: most });
  const emails = (list.data?.data ?? []).map(({ email }) => email);
  return (
    <Field
      label="Person"
      hint="A member’s email address. Anyone else gets an invitation link, which you send them."
      error={error}
    >
      {ids => (
        <Base.Root items={emails} value={value} onValueChange={onChange} filter={null}>
          <div ref={setAnchor}>
            <Base.Input
              {...ids}
              name="email"
              type="email"
              required
              placeholder="ada@example.com"
              autoComplete="off"
              className="control"
            />
          </div>
          <Base.Portal container={anchor?.closest<HTMLElement>('[role=dialog], main') ?? null}>
            <Base.Positioner sideOffset={4} className="z-50">
              <Base.Popup className="popup enter grow max-h-[min(20rem,var(--available-height))] w-(--anchor-width) overflow-y-auto p-1 data-empty:hidden">
                <Base.List aria-label="Members">
                  {(email: string) => (
                    <Base.Item
                      key={email}
                      value={email}
                      className="flex min-h-(--control-small) items-center rounded-lg px-2 outline-none data-highlighted:bg-hover"
                    >
                      <span className="min-w-0 truncate">{email}</span>
                    </Base.Item>
                  )}
                </Base.List>
              </Base.Popup>
            </Base.Positioner>
          </Base.Portal>
        </Base.Root>
      )}
    </Field>
  );
}
