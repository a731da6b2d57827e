/** Renames a secret in all vaults of a stage. */
import { post } from '../../api/client.ts';
import { useForm } from '../../api/form.ts';
import type { RenamedInStage } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';
import type { Row } from './compared.ts';

interface RenameDialogProps {
  readonly row: Row;
  readonly stageId: string;
  readonly onClose: () => void;
}

export function RenameDialog({ row, stageId, onClose }: RenameDialogProps) {
  const form = useForm({ name: row.name });
  const refresh = useRefresh();
  const known = row.cells.filter(cell => cell !== null);
  async function rename({ name }: typeof form.values) {
    const body = { secret_id: known[0]!.id, name };
    const { data } = await post<RenamedInStage>(`/v1/stages/${stageId}/rename`, body);
    const done = data.filter(({ proposal }) => proposal === undefined).length;
    if (done > 0) note(`${row.name} renamed in ${done === 1 ? '1 vault' : `${done} vaults`}`);
    await refresh('secrets', 'vaults', 'resources');
    onClose();
  }
  return (
    <FormDialog
      title={`Rename ${row.name}`}
      description={`It is renamed in ${known.length === 1 ? 'the vault that has' : `all ${known.length} vaults that have`} it. Programs that read it by its name need the new one.`}
      form={form}
      onSubmit={rename}
      onClose={onClose}
      action="Rename"
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} />
    </FormDialog>
  );
}
