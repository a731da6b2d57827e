/** Form controls, each bound to a form field by name: text, text area, select and checkbox. */
import type { InputHTMLAttributes, ReactNode } from 'react';
import type { Form } from '../api/form.ts';
import { Field } from './field.tsx';

type Named<T, V> = { [K in keyof T]: T[K] extends V ? K : never }[keyof T] & string;

interface Bound<T> {
  readonly form: Form<T>;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly optional?: boolean;
}

type TextProps<T> = Bound<T> & { readonly name: Named<T, string> } & Omit<
    InputHTMLAttributes<HTMLInputElement>,
    'name' | 'form' | 'value' | 'onChange'
  >;

export function TextField<T extends object>({ form, name, label, hint, optional, ...rest }: TextProps<T>) {
  return (
    <Field label={label} hint={hint} optional={optional} error={form.errorOf(name)}>
      {ids => (
        <input
          type="text"
          autoComplete="off"
          {...rest}
          {...ids}
          name={name}
          className={`control ${rest.className ?? ''}`}
          value={form.values[name] as string}
          onChange={event => form.set(name, event.target.value as T[typeof name])}
        />
      )}
    </Field>
  );
}

export function AreaField<T extends object>({
  form,
  name,
  label,
  hint,
  optional,
  rows = 4,
  mono = true,
  required = false,
  placeholder,
}: Bound<T> & {
  readonly name: Named<T, string>;
  readonly rows?: number;
  readonly mono?: boolean;
  readonly required?: boolean;
  readonly placeholder?: string;
}) {
  return (
    <Field label={label} hint={hint} optional={optional} error={form.errorOf(name)}>
      {ids => (
        <textarea
          {...ids}
          name={name}
          rows={rows}
          required={required}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
          className={`control resize-y ${mono ? 'font-mono text-xs' : ''}`}
          value={form.values[name] as string}
          onChange={event => form.set(name, event.target.value as T[typeof name])}
        />
      )}
    </Field>
  );
}

export function ChoiceField<T extends object>({
  form,
  name,
  label,
  hint,
  choices,
  onChoose = value => form.set(name, value as T[typeof name]),
}: Bound<T> & {
  readonly name: Named<T, string>;
  readonly choices: readonly (readonly [string, string])[];
  /** For a choice that also sets other fields. */
  readonly onChoose?: (value: string) => void;
}) {
  return (
    <Field label={label} hint={hint} error={form.errorOf(name)}>
      {ids => (
        <select
          {...ids}
          name={name}
          className="control"
          value={form.values[name] as string}
          onChange={event => onChoose(event.target.value)}
        >
          {choices.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function CheckField<T extends object>({
  form,
  name,
  label,
  hint,
}: Bound<T> & { readonly name: Named<T, boolean> }) {
  return (
    <label className="flex cursor-pointer items-start gap-2.5">
      <input
        type="checkbox"
        name={name}
        className="mt-0.5"
        checked={form.values[name] as boolean}
        onChange={event => form.set(name, event.target.checked as T[typeof name])}
      />
      <span>
        <span className="font-medium">{label}</span>
        {hint && <span className="block text-xs text-muted">{hint}</span>}
      </span>
    </label>
  );
}
