/** Tags as lines of `name=value`. */
import type { Form } from '../api/form.ts';
import { AreaField } from './text-field.tsx';

export function TagsField<T extends { tags: string }>({ form }: { form: Form<T> }) {
  return (
    <AreaField
      form={form}
      name={'tags' as never}
      label="Tags"
      optional
      rows={2}
      placeholder="team=payments"
      hint="One name=value per line, at most 15."
    />
  );
}

export function tagsOf(text: string): Record<string, string> {
  const lines = text.split('\n').map(line => line.trim());
  return Object.fromEntries(
    lines
      .filter(line => line !== '')
      .map(line => {
        const at = line.indexOf('=');
        return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

export function tagLines(tags: Readonly<Record<string, string>>): string {
  return Object.entries(tags)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n');
}
