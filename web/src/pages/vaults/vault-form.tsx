/** Creates or edits a vault. */
import { useLocation } from 'wouter';
import { useForm } from '../../api/form.ts';
import type { Vault } from '../../api/types.ts';
import { useMay } from '../../session/session.tsx';
import { Field } from '../../ui/field.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoices, vaults } from '../../ui/search-choice.tsx';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, CheckField, TextField } from '../../ui/text-field.tsx';
import { note } from '../../ui/toast.tsx';

export function VaultForm({ vault, onClose }: { vault?: Vault; onClose: () => void }) {
  const form = useForm({
    name: vault?.name ?? '',
    description: vault?.description ?? '',
    tags: tagLines(vault?.tags ?? {}),
    referable_from: vault?.referable_from ?? [],
    review: vault?.review ?? false,
  });
  const may = useMay();
  const [, go] = useLocation();
  const shown = ({ id, name }: Vault) => {
    note(`Vault “${name}” created`);
    go(`/vaults/${id}/secrets`);
  };
  return (
    <ResourceForm
      what="vault"
      collection="vaults"
      resource={vault}
      form={form}
      bodyOf={values => ({ ...values, tags: tagsOf(values.tags) })}
      onCreated={shown}
      onClose={onClose}
    >
      <TextField
        form={form}
        name="name"
        label="Name"
        required
        maxLength={255}
        placeholder="payments-production"
      />
      <AreaField form={form} name="description" label="Description" optional rows={2} mono={false} />
      <TagsField form={form} />
      <Field
        label="Vaults that may refer to its secrets"
        optional
        hint="Templates of these vaults can contain secrets of this one, for everyone who may read the templates."
        error={form.errorOf('referable_from')}
      >
        {ids => (
          <SearchChoices
            {...vaults}
            ids={ids}
            placeholder="None"
            value={form.values.referable_from}
            onChange={chosen => form.set('referable_from', [...chosen])}
          />
        )}
      </Field>
      {may('vaults:review') && (
        <CheckField
          form={form}
          name="review"
          label="Review"
          hint="Someone else has to confirm every write of its secrets, keys and certificates."
        />
      )}
    </ResourceForm>
  );
}
