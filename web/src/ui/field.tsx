/** A labelled control with its hint and error, linked for screen readers. */
import { type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string;
  readonly optional?: boolean;
  readonly children: (ids: ControlIds) => ReactNode;
}

export interface ControlIds {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
}

export function Field({ label, hint, error = '', optional = false, children }: FieldProps) {
  const id = useId();
  const described = [hint ? `${id}-hint` : '', error === '' ? '' : `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <label id={`${id}-label`} htmlFor={id} className="font-medium text-ink">
        {label}
        {optional && <span className="text-xs font-normal text-muted"> – optional</span>}
      </label>
      {children({
        id,
        'aria-describedby': described === '' ? undefined : described,
        'aria-invalid': error === '' ? undefined : true,
      })}
      {hint && (
        <div id={`${id}-hint`} className="text-xs text-muted">
          {hint}
        </div>
      )}
      {error !== '' && (
        <div id={`${id}-error`} className="text-xs text-bad" role="alert">
          {label} {error}.
        </div>
      )}
    </div>
  );
}
