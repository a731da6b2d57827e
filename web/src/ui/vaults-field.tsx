/** Restricts something to vaults. If none is chosen, all vaults are included. */
import type { Form } from '../api/form.ts';
import { Field } from './field.tsx';
import { SearchChoices, vaults } from './search-choice.tsx';

interface Narrowed {
  vault_ids: readonly string[];
}

export function VaultsField<V extends Narrowed>({ form, hint }: { form: Form<V>; hint?: string }) {
  return (
    <Field label="Only these vaults" optional hint={hint} error={form.errorOf('vault_ids')}>
      {ids => (
        <SearchChoices
          {...vaults}
          ids={ids}
          placeholder="All vaults"
          value={form.values.vault_ids}
          onChange={chosen => form.set('vault_ids', chosen as V['vault_ids'])}
        />
      )}
    </Field>
  );
}
