/** Fills a field with a generated value of a chosen format and length. */
import { Dices } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../../ui/button.tsx';
import { forms, type GeneratedForm, generate, lengths } from './generate.ts';

export function Generator({ onGenerate }: { onGenerate: (value: string) => void }) {
  const [open, setOpen] = useState(false);
  const [form, setForm] = useState<GeneratedForm>('letters');
  const [length, setLength] = useState(32);
  const [least, , most] = lengths[form];
  function choose(next: GeneratedForm) {
    setForm(next);
    setLength(lengths[next][1]);
  }
  if (!open) {
    return (
      <div>
        <Button size="small" onClick={() => setOpen(true)}>
          <Dices className="size-4" aria-hidden /> Generate a value
        </Button>
      </div>
    );
  }
  return (
    <fieldset className="flex flex-wrap items-end gap-2 rounded-lg border p-3">
      <legend className="px-1 text-xs font-medium">Generate</legend>
      <label className="flex flex-col gap-1 text-xs">
        Format
        <select
          className="control w-auto"
          value={form}
          onChange={event => choose(event.target.value as GeneratedForm)}
        >
          {forms.map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </label>
      {least < most && (
        <label className="flex flex-col gap-1 text-xs">
          {form === 'words' ? 'Words' : 'Length'}
          <input
            type="number"
            className="control w-24"
            min={least}
            max={most}
            value={length}
            onChange={event => setLength(Number(event.target.value))}
          />
        </label>
      )}
      <Button onClick={() => onGenerate(generate(form, Math.min(most, Math.max(least, length))))}>
        Generate
      </Button>
    </fieldset>
  );
}
