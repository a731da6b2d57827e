/** Chooses, creates, reorders and deletes stages. */
import { useState } from 'react';
import { put, remove } from '../../api/client.ts';
import type { Stage } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import type { Address } from '../../ui/address.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Field } from '../../ui/field.tsx';
import { note } from '../../ui/toast.tsx';
import { StageForm } from './stage-form.tsx';

interface ChoiceProps {
  readonly stages: readonly Stage[];
  readonly stage: Stage | undefined;
  readonly address: Address;
}

export function StageChoice({ stages, stage, address }: ChoiceProps) {
  return (
    <Field label="Stage">
      {field => (
        <select
          {...field}
          className="control w-auto max-w-64"
          value={stage?.id ?? 'none'}
          onChange={event => address.set({ stage: event.target.value, vaults: '', show: '' })}
        >
          {stages.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
          <option value="none">Other vaults…</option>
        </select>
      )}
    </Field>
  );
}

export function StageActions({ stage, ids }: { stage: Stage | undefined; ids: readonly string[] }) {
  const may = useMay();
  const refresh = useRefresh();
  const [open, setOpen] = useState(false);
  if (!ids.every(id => may('vaults:write', id))) return null;
  async function discard({ id, name }: Stage) {
    await remove(`/v1/stages/${id}`);
    note(`Stage “${name}” deleted`);
    await refresh('stages');
  }
  return (
    <>
      {stage !== undefined && (
        <>
          <Button onClick={() => setOpen(true)}>Edit stage</Button>
          <ConfirmButton
            label="Delete stage"
            title={`Delete stage ${stage.name}?`}
            text="The vaults and their secrets stay as they are."
            action="Delete"
            onConfirm={() => discard(stage)}
          />
        </>
      )}
      {stage === undefined && ids.length > 1 && (
        <Button look="primary" onClick={() => setOpen(true)}>
          Save as stage
        </Button>
      )}
      {open && <StageForm stage={stage} ids={ids} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Stores another order of the same vaults; null if the person may not. */
export function useReorder(stage: Stage | undefined): ((ids: readonly string[]) => void) | null {
  const may = useMay();
  const refresh = useRefresh();
  if (!stage?.vault_ids.every(id => may('vaults:write', id))) return null;
  return ids => {
    void put(`/v1/stages/${stage.id}`, { vault_ids: ids }).then(() => refresh('stages'));
  };
}
