/** Fields to choose a vault, or the vaults that something is restricted to. */
import type { Form } from '../api/form.ts';
import { Field } from './field.tsx';
import { SearchChoice, SearchChoices, vaults } from './search-choice.tsx';

export function VaultField<V extends { vault_id: string }>({ form }: { form: Form<V> }) {
  return (
    <Field label="Vault" error={form.errorOf('vault_id')}>
      {ids => (
        <SearchChoice
          {...vaults}
          ids={ids}
          placeholder="Choose a vault"
          value={form.values.vault_id}
          onChange={id => form.set('vault_id', id as V['vault_id'])}
        />
      )}
    </Field>
  );
}

interface Restricted {
  vault_ids: readonly string[];
}

/** If none is chosen, all vaults are included. */
export function VaultsField<V extends Restricted>({ form, hint }: { form: Form<V>; hint?: string }) {
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
