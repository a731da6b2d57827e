/**
 * A form's state. Input is kept, whatever the service returns. An error that names a field is shown at that field, any
 * other error above the buttons.
 */
import { type FormEvent, useState } from 'react';
import { ApiError, SentForReview, sentence } from './client.ts';

export interface Form<T> {
  readonly values: T;
  /** The values that the form was opened with. */
  readonly initial: T;
  readonly busy: boolean;
  /** The error to show above the buttons; empty if a field shows it. */
  readonly problem: string;
  set<K extends keyof T>(name: K, value: T[K]): void;
  errorOf(name: string): string;
  fail(error: unknown): void;
  /** `onSent` is called instead if what was sent waits for review. */
  submit(action: (values: T) => Promise<unknown>, onSent?: () => void): (event: FormEvent) => void;
  reset(): void;
}

export function useForm<T extends object>(initial: T): Form<T> {
  // A refetch of the record while the form is open must not change the initial values.
  const [began] = useState(initial);
  const [values, setValues] = useState(began);
  const [failure, setFailure] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const field = failure instanceof ApiError ? (failure.field.split('.')[0] ?? '') : '';
  const isOurs = field !== '' && field in values;

  async function run(action: (values: T) => Promise<unknown>, onSent?: () => void) {
    setBusy(true);
    setFailure(null);
    try {
      await action(values);
    } catch (error) {
      if (error instanceof SentForReview) onSent?.();
      else setFailure(error);
    } finally {
      setBusy(false);
    }
  }

  return {
    values,
    initial: began,
    busy,
    problem: failure === null || isOurs ? '' : problemOf(failure),
    set: (name, value) => setValues(before => ({ ...before, [name]: value })),
    errorOf: name => (isOurs && field === name ? (failure as ApiError).reason : ''),
    fail: setFailure,
    submit: (action, onSent) => event => {
      event.preventDefault();
      // React would bubble it to the form that opened this form's dialog.
      event.stopPropagation();
      if (!busy) void run(action, onSent);
    },
    reset: () => {
      setValues(began);
      setFailure(null);
    },
  };
}

/** A failure to reach the service says that nothing was lost. */
function problemOf(failure: unknown): string {
  return failure instanceof ApiError ? sentence(failure) : `${sentence(failure)} Your input is still here.`;
}
