/**
 * Bulk import: paste or drop, preview what will change, then import. The preview never shows values. For people who may
 * reveal secrets, the service compares the values for the preview; nothing is stored before it is confirmed.
 */
import { FileUp } from 'lucide-react';
import { type DragEvent, useState } from 'react';
import { useForm } from '../api/form.ts';
import { useRefresh } from '../api/use.ts';
import { useMay } from '../session/session.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog, DialogButtons } from '../ui/dialog.tsx';
import { AreaField } from '../ui/text-field.tsx';
import { type Dropped, readFiles } from './files.ts';
import { parseFile, parseText } from './parse.ts';
import { type Planned, planOf } from './plan.ts';
import { Preview } from './preview.tsx';

interface ImportProps {
  readonly vaultId: string;
  readonly onClose: () => void;
}

interface Plan {
  readonly planned: readonly Planned[];
  readonly problems: readonly string[];
}

export default function Import({ vaultId, onClose }: ImportProps) {
  const [plan, setPlan] = useState<Plan | null>(null);
  const form = useForm({ text: '', files: [] as readonly Dropped[] });
  const refresh = useRefresh();
  const may = useMay();
  async function look({ text, files }: typeof form.values) {
    const parsed = [parseText(text), ...files.map(parseFile)];
    const items = parsed.flatMap(one => one.items);
    const problems = parsed.flatMap(one => one.problems);
    if (items.length === 0 && problems.length === 0) problems.push('There is nothing to import.');
    setPlan({ planned: await planOf(vaultId, items, may('secrets:reveal')), problems });
  }
  async function close() {
    onClose();
    await refresh('secrets', 'keys', 'certificates', 'versions');
  }
  return (
    <Dialog
      open
      wide
      onClose={close}
      title="Import"
      description="A .env file, a JSON object, PEM keys and certificates, or a PKCS#12 file. Nothing is stored until you have reviewed the changes."
    >
      {plan === null ? (
        <form className="flex flex-col gap-4" onSubmit={form.submit(look)}>
          <AreaField
            form={form}
            name="text"
            label="Paste"
            rows={8}
            placeholder={'DATABASE_URL=postgres://…\nAPI_TOKEN="…"'}
          />
          <DropZone files={form.values.files} onFiles={files => form.set('files', files)} />
          <DialogButtons problem={form.problem}>
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" look="primary" busy={form.busy}>
              Preview
            </Button>
          </DialogButtons>
        </form>
      ) : (
        <Preview
          vaultId={vaultId}
          planned={plan.planned}
          problems={plan.problems}
          onBack={() => setPlan(null)}
          onDone={close}
        />
      )}
    </Dialog>
  );
}

function DropZone({
  files,
  onFiles,
}: {
  files: readonly Dropped[];
  onFiles: (files: readonly Dropped[]) => void;
}) {
  const [over, setOver] = useState(false);
  async function add(chosen: Iterable<File>) {
    onFiles([...files, ...(await readFiles(chosen))]);
  }
  function drop(event: DragEvent) {
    event.preventDefault();
    setOver(false);
    void add(event.dataTransfer.files);
  }
  return (
    <label
      onDragOver={event => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`flex cursor-pointer flex-col items-center gap-1 rounded-xl border-2 border-dashed px-4 py-6 text-center focus-within:outline-2 focus-within:outline-accent ${over ? 'border-accent bg-accent-soft' : 'border-line-strong/60'}`}
    >
      <FileUp className="size-5 text-muted" aria-hidden />
      <span className="font-medium">Drop files here, or choose them</span>
      <span className="text-xs text-muted">
        {files.length === 0
          ? '.env, .json, .pem, .crt, .key, .p12, .pfx'
          : files.map(file => file.name).join(', ')}
      </span>
      <input
        type="file"
        multiple
        className="sr-only"
        onChange={event => event.target.files && void add(event.target.files)}
      />
    </label>
  );
}
