/** The fields that restrict an access key: what it can read, from where, how often and until when. */
import type { Form } from '../api/form.ts';
import { type AccessKey, type GrantedOperation, grantedOperations } from '../api/types.ts';
import { DateField, expiryOf } from '../ui/date-field.tsx';
import { localOf } from '../ui/dates.ts';
import { linesOf } from '../ui/lines.ts';
import { AreaField, CheckField, TextField } from '../ui/text-field.tsx';

type OperationValues = Record<`op_${GrantedOperation}`, boolean>;

export interface RestrictionValues extends OperationValues {
  secrets: boolean;
  keys: boolean;
  certificates: boolean;
  names: string;
  names_only: boolean;
  may_use: boolean;
  /** Whether it may do only the chosen operations with keys. */
  has_operations: boolean;
  cidrs: string;
  expiration_date: string;
  max_uses: string;
  rate_limit: string;
}

type Restricted = Pick<
  AccessKey,
  | 'kinds'
  | 'names'
  | 'names_only'
  | 'may_use'
  | 'operations'
  | 'cidrs'
  | 'expiration_date'
  | 'max_uses'
  | 'rate_limit'
>;

export function restrictionValuesOf(item: Restricted | undefined): RestrictionValues {
  const has = (kind: string) => item?.kinds?.includes(kind) ?? true;
  return {
    secrets: has('secret'),
    keys: has('key'),
    certificates: has('certificate'),
    names: item?.names?.join('\n') ?? '',
    names_only: item?.names_only ?? false,
    may_use: item?.may_use ?? false,
    has_operations: item !== undefined && item.operations !== null,
    ...operationValuesOf(item?.operations ?? []),
    cidrs: item?.cidrs?.join('\n') ?? '',
    expiration_date: localOf(item?.expiration_date),
    max_uses: item?.max_uses?.toString() ?? '',
    rate_limit: item?.rate_limit?.toString() ?? '',
  };
}

function operationValuesOf(allowed: readonly string[]): OperationValues {
  const values = grantedOperations.map(one => [`op_${one}`, allowed.includes(one)]);
  return Object.fromEntries(values) as OperationValues;
}

/** For an access key, or for the access keys that an identity receives. */
export function RestrictionFields<V extends RestrictionValues>({ form: whole }: { form: Form<V> }) {
  // Binds only fields that every such form has.
  const form = whole as unknown as Form<RestrictionValues>;
  return (
    <>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium">Can read</legend>
        <div className="flex flex-wrap gap-x-6 gap-y-2">
          <CheckField form={form} name="secrets" label="Secrets" />
          <CheckField form={form} name="keys" label="Keys" />
          <CheckField form={form} name="certificates" label="Certificates" />
        </div>
        <CheckField
          form={form}
          name="names_only"
          label="Names only"
          hint="Can list names but not read values."
        />
        <CheckField
          form={form}
          name="may_use"
          label="Can use"
          hint="Can use secrets and keys through use rules. Combined with “Names only”, an agent can use values that it can’t read."
        />
        <CheckField
          form={form}
          name="has_operations"
          label="Choose operations with keys"
          hint="What it can have keys do without reading them. Otherwise it can verify and encrypt, unless it is restricted to names."
        />
        {form.values.has_operations && (
          <div className="flex flex-wrap gap-x-6 gap-y-2">
            {grantedOperations.map(one => (
              <CheckField key={one} form={form} name={`op_${one}`} label={one} />
            ))}
          </div>
        )}
      </fieldset>
      <AreaField
        form={form}
        name="names"
        label="Only these names"
        optional
        rows={2}
        placeholder="DATABASE_*"
        hint="One pattern per line; * matches anything."
      />
      <AreaField
        form={form}
        name="cidrs"
        label="Only from these networks"
        optional
        rows={2}
        placeholder="10.0.0.0/8"
        hint="One per line."
      />
      <DateField form={form} name="expiration_date" label="Expires" optional />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField form={form} name="max_uses" label="Maximum uses" type="number" min={1} optional />
        <TextField
          form={form}
          name="rate_limit"
          label="Maximum requests per minute"
          type="number"
          min={1}
          optional
        />
      </div>
    </>
  );
}

export function restrictionsOf(values: RestrictionValues, before: Restricted | undefined): object {
  const kinds = [
    values.secrets && 'secret',
    values.keys && 'key',
    values.certificates && 'certificate',
  ].filter(Boolean);
  const list = (text: string) => (linesOf(text).length === 0 ? null : linesOf(text));
  const figure = (text: string) => (text === '' ? null : Number(text));
  return {
    kinds: kinds.length === 3 ? null : kinds,
    names: list(values.names),
    names_only: values.names_only,
    may_use: values.may_use,
    operations: values.has_operations ? grantedOperations.filter(one => values[`op_${one}`]) : null,
    cidrs: list(values.cidrs),
    expiration_date: expiryOf(values.expiration_date, before?.expiration_date),
    max_uses: figure(values.max_uses),
    rate_limit: figure(values.rate_limit),
  };
}
