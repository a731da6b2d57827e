/** Creates or edits a use rule for a key: the allowed operations and algorithms, and which tokens it signs. */
import { type Form, useForm } from '../../api/form.ts';
import { type Key, ruledOperations, type UseRule } from '../../api/types.ts';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { CheckField, ChoiceField, TextField } from '../../ui/text-field.tsx';
import { approvalChoices, words } from './use-rule-form.tsx';

type Operation = (typeof ruledOperations)[number];

type Values = {
  name: string;
  algorithms: string;
  signs: string;
  issuer: string;
  audiences: string;
  longest_lifetime: string;
  approval: string;
} & Record<Operation, boolean>;

const labels: Readonly<Record<Operation, string>> = { sign: 'Sign', verify: 'Verify', decrypt: 'Decrypt' };

/** The usual algorithm for a key of this type. */
function usualAlgorithm({ key_type, key_size }: Key): string {
  if (key_type === 'RSA') return 'PS256';
  if (key_type === 'OKP') return 'EdDSA';
  return key_size === 384 ? 'ES384' : key_size === 521 ? 'ES512' : 'ES256';
}

function shapeIn({ sign, signs, issuer, audiences, longest_lifetime }: Values, before: UseRule['jwt']) {
  if (!sign || signs === 'any') return null;
  // Keeps fields that this form doesn't show.
  const kept = before?.typ === undefined ? {} : { typ: before.typ };
  return { ...kept, issuer, audiences: words(audiences), longest_lifetime: Number(longest_lifetime) };
}

export function KeyRuleForm({
  item,
  rule,
  onClose,
}: {
  item: Key;
  rule?: UseRule | undefined;
  onClose: () => void;
}) {
  const allowed = Object.fromEntries(
    ruledOperations.map(one => [one, rule?.operations?.includes(one) ?? one === 'sign']),
  ) as Record<Operation, boolean>;
  const form = useForm<Values>({
    name: rule?.name ?? '',
    ...allowed,
    algorithms: rule?.algorithms?.join(' ') ?? usualAlgorithm(item),
    signs: rule !== undefined && rule.jwt === null ? 'any' : 'tokens',
    issuer: rule?.jwt?.issuer ?? '',
    audiences: rule?.jwt?.audiences.join(' ') ?? '',
    longest_lifetime: String(rule?.jwt?.longest_lifetime ?? 600),
    approval: rule?.approval ?? 'always',
  });

  const bodyOf = (values: Values) => ({
    name: values.name,
    operations: ruledOperations.filter(one => values[one]),
    algorithms: words(values.algorithms),
    jwt: shapeIn(values, rule?.jwt ?? null),
    approval: values.approval,
  });
  return (
    <ResourceForm
      what="use rule"
      collection="use-rules"
      resource={rule}
      description="Agents whose access key may use keys can have the service do this. They never see the private key."
      form={form}
      bodyOf={bodyOf}
      creationOf={values => ({ key_id: item.id, ...bodyOf(values) })}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" required maxLength={255} />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium">Operations</legend>
        {ruledOperations.map(one => (
          <CheckField key={one} form={form} name={one} label={labels[one]} />
        ))}
      </fieldset>
      <TextField form={form} name="algorithms" label="Algorithms" required placeholder="ES256" />
      {form.values.sign && <ShapeFields form={form} />}
      <ChoiceField form={form} name="approval" label="Require approval" choices={approvalChoices} />
    </ResourceForm>
  );
}

function ShapeFields({ form }: { form: Form<Values> }) {
  return (
    <>
      <ChoiceField
        form={form}
        name="signs"
        label="Signs"
        choices={[
          ['tokens', 'JSON Web Tokens with these claims'],
          ['any', 'Anything the agent sends'],
        ]}
      />
      {form.values.signs === 'tokens' && (
        <>
          <TextField form={form} name="issuer" label="Token issuer" required />
          <TextField form={form} name="audiences" label="Audiences" required placeholder="payments" />
          <TextField form={form} name="longest_lifetime" label="Maximum lifetime in seconds" required />
        </>
      )}
    </>
  );
}
