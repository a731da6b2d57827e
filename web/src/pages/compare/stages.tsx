/**
 * Saved stage orders. Each is kept in the `stage` tag of its vaults as the order's name and the vault's position in it
 * (`payments/2`), so that it is shared with everyone in the organization.
 */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { get, put } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { List, Vault } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { useMay } from '../../session/session.tsx';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

const tag = 'stage';
const shape = /^(.+)\/(\d+)$/;
/** The maximum number of API pages to read when listing vaults. */
const mostPages = 10;

interface StagesProps {
  readonly ids: readonly string[];
  readonly onChoose: (ids: readonly string[]) => void;
}

export function Stages({ ids, onChoose }: StagesProps) {
  const may = useMay();
  const [saving, setSaving] = useState(false);
  const { data: saved = new Map<string, string[]>() } = useQuery({
    queryKey: ['vaults', 'stages'],
    queryFn: async () => ordersIn(await everyVault()),
  });
  const current = [...saved].find(([, order]) => order.join() === ids.join())?.[0] ?? '';
  return (
    <>
      {saved.size > 0 && (
        <Field label="Stages">
          {field => (
            <select
              {...field}
              className="control w-auto"
              value={current}
              onChange={event => onChoose(saved.get(event.target.value) ?? ids)}
            >
              <option value="">Choose…</option>
              {[...saved.keys()].map(name => (
                <option key={name}>{name}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      {may('vaults:write') && ids.length > 1 && current === '' && (
        <Button onClick={() => setSaving(true)}>Save this order</Button>
      )}
      {saving && <SaveOrder ids={ids} onClose={() => setSaving(false)} />}
    </>
  );
}

function SaveOrder({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const form = useForm({ name: '' });
  const refresh = useRefresh();
  async function save({ name }: typeof form.values) {
    const all = await everyVault();
    // Removes the tag from vaults that are no longer part of the order with this name.
    const left = all.filter(({ id, tags }) => orderOf(tags)?.name === name && !ids.includes(id));
    for (const { id, tags } of left) {
      const { [tag]: _, ...others } = tags;
      await put(`/v1/vaults/${id}`, { tags: others });
    }
    for (const [at, id] of ids.entries()) {
      const vault = all.find(one => one.id === id) ?? (await get<Vault>(`/v1/vaults/${id}`));
      await put(`/v1/vaults/${id}`, { tags: { ...vault.tags, [tag]: `${name}/${at + 1}` } });
    }
    await refresh('vaults');
    note(`Stages “${name}” saved`);
    onClose();
  }
  return (
    <FormDialog
      title="Save this stage order"
      description="It is saved as a tag on the vaults, for everyone in the organization."
      form={form}
      onSubmit={save}
      onClose={onClose}
      action="Save"
    >
      <TextField form={form} name="name" label="Name" required maxLength={100} placeholder="payments" />
    </FormDialog>
  );
}

function orderOf(tags: Readonly<Record<string, string>>): { name: string; place: number } | null {
  const [, name, place] = shape.exec(tags[tag] ?? '') ?? [];
  return name === undefined ? null : { name, place: Number(place) };
}

function ordersIn(vaults: readonly Vault[]): Map<string, string[]> {
  const placed = vaults.flatMap(({ id, tags }) => {
    const order = orderOf(tags);
    return order === null ? [] : [{ id, ...order }];
  });
  const orders = new Map<string, string[]>();
  for (const { name, id } of placed.toSorted((a, b) => a.place - b.place))
    orders.set(name, [...(orders.get(name) ?? []), id]);
  return orders;
}

async function everyVault(): Promise<Vault[]> {
  const all: Vault[] = [];
  for (let page = 1; page <= mostPages; page++) {
    const { data, pagination } = await get<List<Vault>>(`/v1/vaults?limit=100&page=${page}`);
    all.push(...data);
    if (all.length >= pagination.total) break;
  }
  return all;
}
