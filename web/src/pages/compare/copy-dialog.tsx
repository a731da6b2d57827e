/** Copies secrets from one vault of a comparison to another, after saying what that does. */
import { useState } from 'react';
import { post, sentence } from '../../api/client.ts';
import type { BulkAnswer } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog, DialogButtons } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { note } from '../../ui/toast.tsx';
import type { Column, Row } from './compared.ts';

/** By their columns. */
export interface Copying {
  readonly rows: readonly Row[];
  readonly from: number;
  readonly to: number;
  /** Whether the target can't be changed. */
  readonly isFixed?: boolean;
}

interface CopyDialogProps {
  readonly copying: Copying;
  readonly vaults: readonly Column[];
  readonly onDone: () => void;
  readonly onClose: () => void;
}

export function CopyDialog({ copying, vaults, onDone, onClose }: CopyDialogProps) {
  const { rows, isFixed = false } = copying;
  const may = useMay();
  const refresh = useRefresh();
  const [from, setFrom] = useState(copying.from);
  const [to, setTo] = useState(copying.to);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const copied = copiedOf(rows, from, to);
  const [source, target] = [vaults[from]!, vaults[to]!];
  const what = rows.length === 1 ? rows[0]!.name : `${rows.length} secrets`;
  const mayCopy = may('secrets:reveal', source.id) && may('secrets:write', target.id);
  async function copy() {
    setBusy(true);
    setProblem('');
    try {
      const body = { secret_ids: copied.map(({ id }) => id), vault_id: target.id };
      const { results } = await post<BulkAnswer>('/v1/secrets/copy', body);
      const failed = results.flatMap(({ index, error }) =>
        error ? `${copied[index]!.name}: ${error.details.reason || error.message}` : [],
      );
      const done = results.length - failed.length;
      if (failed.length > 0) note(`${done} of ${results.length} copied. ${failed[0]}`, { bad: true });
      else note(`${done === 1 ? copied[0]!.name : `${done} secrets`} copied to ${target.name}`);
      await refresh('secrets', 'versions', 'vaults');
      onDone();
    } catch (error) {
      setProblem(sentence(error));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Dialog open onClose={onClose} title={`Copy ${what} to ${target.name}?`} keep={false}>
      <div className="flex flex-col gap-4">
        {(vaults.length > 2 || !isFixed) && (
          <div className="grid gap-4 sm:grid-cols-2">
            <VaultChoice label="From" value={from} not={to} vaults={vaults} onChange={setFrom} />
            {!isFixed && <VaultChoice label="To" value={to} not={from} vaults={vaults} onChange={setTo} />}
          </div>
        )}
        <p className="text-muted">
          {inWords(copied, rows.length, source, target)} Values are not shown, and each copy is recorded in
          the audit log.
        </p>
        <DialogButtons problem={problem}>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" busy={busy} disabled={copied.length === 0 || !mayCopy} onClick={copy}>
            Copy
          </Button>
        </DialogButtons>
      </div>
    </Dialog>
  );
}

interface Copied {
  readonly id: string;
  readonly name: string;
  readonly isNew: boolean;
}

/** Leaves out what is not there or not active, and what is the same already. */
function copiedOf(rows: readonly Row[], from: number, to: number): Copied[] {
  return rows.flatMap(({ name, cells }) => {
    const [source, target] = [cells[from], cells[to]];
    if (source?.state !== 'active' || from === to) return [];
    if (target && target.value !== null && target.value === source.value) return [];
    return { id: source.id, name, isNew: !target };
  });
}

function inWords(copied: readonly Copied[], all: number, source: Column, target: Column): string {
  const created = copied.filter(({ isNew }) => isNew).length;
  const changed = copied.length - created;
  const left = all - copied.length;
  const are = (count: number, one: string, many: string) => (count === 1 ? `1 ${one}` : `${count} ${many}`);
  const parts = [
    ...(created > 0 ? [`${are(created, 'secret is', 'secrets are')} created in ${target.name}.`] : []),
    ...(changed > 0 ? [`${are(changed, 'secret gets', 'secrets get')} a new version.`] : []),
    ...(left > 0
      ? [`${are(left, 'is', 'are')} left out: not active in ${source.name}, or the same already.`]
      : []),
  ];
  return parts.join(' ');
}

interface VaultChoiceProps {
  readonly label: string;
  readonly value: number;
  /** The column that the other field has. */
  readonly not: number;
  readonly vaults: readonly Column[];
  readonly onChange: (at: number) => void;
}

function VaultChoice({ label, value, not, vaults, onChange }: VaultChoiceProps) {
  return (
    <Field label={label}>
      {field => (
        <select
          {...field}
          className="control"
          value={value}
          onChange={event => onChange(Number(event.target.value))}
        >
          {vaults.map(({ id, name }, at) => (
            <option key={id} value={at} disabled={at === not}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
