/** A field for roles in individual vaults: each vault with its role, and a box to add another. */
import { X } from 'lucide-react';
import type { Form } from '../../api/form.ts';
import { type GrantedRole, grantedRoles, type Vault, type VaultGrant } from '../../api/types.ts';
import { useRecord } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/field.tsx';
import { SearchChoice, vaults } from '../../ui/search-choice.tsx';
import { Ago } from '../../ui/time.tsx';

interface Granting {
  grants: readonly VaultGrant[];
}

export function GrantsField<V extends Granting>({ form, hint }: { form: Form<V>; hint?: string }) {
  const { grants } = form.values;
  const set = (next: readonly VaultGrant[]) => form.set('grants', next as V['grants']);
  const add = (vault_id: string) => {
    if (vault_id === '' || grants.some(one => one.vault_id === vault_id)) return;
    set([...grants, { vault_id, role: 'reader' }]);
  };
  return (
    <div className="flex flex-col gap-2">
      <Field label="Roles in individual vaults" optional hint={hint} error={form.errorOf('grants')}>
        {ids => <SearchChoice {...vaults} ids={ids} placeholder="Add a vault" value="" onChange={add} />}
      </Field>
      {grants.length > 0 && (
        <ul aria-label="Roles in individual vaults" className="flex flex-col gap-1.5">
          {grants.map(one => (
            <GrantLine
              key={`${one.vault_id} ${one.until}`}
              grant={one}
              onRole={role => set(grants.map(other => (other === one ? { ...one, role } : other)))}
              onRemove={() => set(grants.filter(other => other !== one))}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

interface LineProps {
  readonly grant: VaultGrant;
  readonly onRole: (role: GrantedRole) => void;
  readonly onRemove: () => void;
}

function GrantLine({ grant, onRole, onRemove }: LineProps) {
  const { data } = useRecord<Vault>('vaults', grant.vault_id);
  const name = data?.name ?? `${grant.vault_id.slice(0, 8)}…`;
  return (
    <li className="flex items-center gap-2">
      <span className="min-w-0 flex-1 truncate">
        {name}
        {grant.until !== undefined && (
          <span className="text-warn">
            , ends <Ago at={grant.until} />
          </span>
        )}
      </span>
      <select
        aria-label={`Role in ${name}`}
        className="control w-auto py-0.5 text-xs"
        value={grant.role}
        onChange={event => onRole(event.target.value as GrantedRole)}
      >
        {grantedRoles.map(role => (
          <option key={role}>{role}</option>
        ))}
      </select>
      <Button look="quiet" size="icon" aria-label={`Remove ${name}`} onClick={onRemove}>
        <X className="size-4" aria-hidden />
      </Button>
    </li>
  );
}
