/** Creates or edits a stage. */
import { useLocation } from 'wouter';
import { useForm } from '../../api/form.ts';
import type { Stage } from '../../api/types.ts';
import { Field } from '../../ui/field.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoices, vaults } from '../../ui/search-choice.tsx';
import { TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

interface StageFormProps {
  readonly stage: Stage | undefined;
  /** The vaults of a new one. */
  readonly ids: readonly string[];
  readonly onClose: () => void;
}

export function StageForm({ stage, ids, onClose }: StageFormProps) {
  const form = useForm({ name: stage?.name ?? '', vault_ids: stage?.vault_ids ?? ids });
  const [, go] = useLocation();
  const shown = ({ id, name }: Stage) => {
    note(`Stage “${name}” created`);
    onClose();
    go(`/compare?stage=${id}`);
  };
  return (
    <ResourceForm
      what="stage"
      collection="stages"
      resource={stage}
      form={form}
      bodyOf={values => values}
      onCreated={shown}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="payments" />
      <Field
        label="Vaults, from left to right"
        hint="The last one is what the others lead to, such as production."
        error={form.errorOf('vault_ids')}
      >
        {field => (
          <SearchChoices
            {...vaults}
            ids={field}
            placeholder="Choose two or more vaults"
            value={form.values.vault_ids}
            onChange={chosen => form.set('vault_ids', chosen as string[])}
          />
        )}
      </Field>
    </ResourceForm>
  );
}
