/** Creates a use rule for a secret, optionally from a preset, or edits one. */
import { type Form, useForm } from '../../api/form.ts';
import { type Secret, type UseRule, usePresets } from '../../api/types.ts';
import { Field } from '../../ui/field.tsx';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoice } from '../../ui/search-choice.tsx';
import { AreaField, ChoiceField, TextField } from '../../ui/text-field.tsx';

interface Values {
  preset: string;
  name: string;
  hosts: string;
  methods: string;
  paths: string;
  place: string;
  detail: string;
  request_headers: string;
  response: string;
  store_id: string;
  pointer: string;
  approval: string;
}

type Place = NonNullable<UseRule['place']>;

/** The label of each place, and of its additional field if it has one. */
const places: Readonly<Record<Place['type'], readonly [label: string, detail: string]>> = {
  bearer: ['Bearer token', ''],
  header: ['Header', 'Header name'],
  basic: ['Basic authentication', 'User name'],
  query: ['Query parameter', 'Parameter name'],
  json: ['JSON body field', 'JSON pointer'],
  form: ['Form field', 'Field name'],
};

function detailOf(place: Place): string {
  switch (place.type) {
    case 'bearer':
      return '';
    case 'basic':
      return place.username ?? '';
    case 'json':
      return place.pointer;
    case 'form':
      return place.field;
    default:
      return place.name;
  }
}

function bodyOf(values: Values, rule: UseRule | undefined): object {
  return {
    name: values.name,
    hosts: words(values.hosts),
    methods: words(values.methods.toUpperCase()),
    paths: words(values.paths),
    place: placeOf(values.place, values.detail, rule?.place ?? null),
    request_headers: words(values.request_headers.toLowerCase()),
    approval: values.approval,
    response: values.response,
    store: values.response === 'store' ? { secret_id: values.store_id, pointer: values.pointer } : null,
  };
}

function placeOf(type: string, detail: string, before: Place | null): Place {
  switch (type) {
    case 'header': {
      // Keeps the prefix, which this form doesn't show.
      const kept = before?.type === 'header' && before.prefix !== undefined ? { prefix: before.prefix } : {};
      return { type, name: detail.toLowerCase(), ...kept };
    }
    case 'basic':
      return { type, username: detail === '' ? null : detail };
    case 'query':
      return { type, name: detail };
    case 'json':
      return { type, pointer: detail };
    case 'form':
      return { type, field: detail };
    default:
      return { type: 'bearer' };
  }
}

export const approvalChoices = [
  ['always', 'For every call'],
  ['writes', 'For calls that make changes'],
  ['never', 'Never'],
] as const;

export const words = (text: string) => text.split(/[\s,]+/).filter(word => word !== '');

/** The form's values for a rule, or the defaults for a new one. */
function valuesOf(rule: UseRule | undefined): Values {
  return {
    preset: '',
    name: rule?.name ?? '',
    hosts: rule?.hosts?.join('\n') ?? '',
    methods: rule?.methods?.join(' ') ?? 'GET',
    paths: rule?.paths?.join('\n') ?? '',
    place: rule?.place?.type ?? 'bearer',
    detail: rule?.place ? detailOf(rule.place) : '',
    request_headers: rule?.request_headers?.join(' ') ?? 'accept content-type',
    response: rule?.response ?? 'full',
    store_id: rule?.store?.secret_id ?? '',
    pointer: rule?.store?.pointer ?? '/access_token',
    approval: rule?.approval ?? 'always',
  };
}

export function UseRuleForm({
  secret,
  rule,
  onClose,
}: {
  secret: Secret;
  rule?: UseRule | undefined;
  onClose: () => void;
}) {
  const form = useForm(valuesOf(rule));

  function begin(id: string) {
    form.set('preset', id);
    const preset = usePresets.find(one => one.id === id);
    if (preset === undefined) return;
    form.set('name', preset.title);
    form.set('hosts', preset.hosts.join('\n'));
    form.set('methods', preset.methods.join(' '));
    form.set('paths', preset.paths.join('\n'));
    form.set('place', preset.place.type);
    form.set('detail', detailOf(preset.place));
    form.set('request_headers', preset.request_headers.join(' '));
  }

  const [, detail] = places[form.values.place as Place['type']];
  return (
    <ResourceForm
      what="use rule"
      collection="use-rules"
      resource={rule}
      description="Agents whose access key may use secrets can have the service make these calls. They never see the value."
      form={form}
      bodyOf={values => bodyOf(values, rule)}
      creationOf={values => ({ secret_id: secret.id, ...bodyOf(values, rule) })}
      onClose={onClose}
    >
      {!rule && (
        <ChoiceField
          form={{
            ...form,
            set: (name, value) => (name === 'preset' ? begin(String(value)) : form.set(name, value)),
          }}
          name="preset"
          label="Service"
          choices={[['', 'Another service'], ...usePresets.map(({ id, title }) => [id, title] as const)]}
        />
      )}
      <TextField form={form} name="name" label="Name" required maxLength={255} />
      <AreaField
        form={form}
        name="hosts"
        label="Hosts"
        rows={2}
        placeholder="api.example.com"
        hint="Exact names, one per line. Choose services that don’t echo what they are sent."
      />
      <TextField form={form} name="methods" label="Methods" required placeholder="GET POST" />
      <AreaField
        form={form}
        name="paths"
        label="Paths"
        rows={3}
        placeholder="/repos/acme/**"
        hint="One per line; * matches within a segment, ** across segments."
      />
      <ChoiceField
        form={form}
        name="place"
        label="Send the value as"
        choices={Object.entries(places).map(([type, [label]]) => [type, label] as const)}
      />
      {detail !== '' && <TextField form={form} name="detail" label={detail} />}
      <TextField form={form} name="request_headers" label="Headers that the agent may set" optional />
      <ChoiceField
        form={form}
        name="response"
        label="Returns"
        choices={[
          ['full', 'The response, without the value'],
          ['status-only', 'Only the status'],
          ['store', 'Nothing, and store a field of the response in a secret'],
        ]}
      />
      {form.values.response === 'store' && <StoreFields form={form} vaultId={secret.vault_id} />}
      <ChoiceField form={form} name="approval" label="Require approval" choices={approvalChoices} />
    </ResourceForm>
  );
}

/** Where to store a token from the response: in an existing secret. It is not returned to the agent. */
function StoreFields({ form, vaultId }: { form: Form<Values>; vaultId: string }) {
  return (
    <>
      <Field label="Secret" error={form.errorOf('store')}>
        {ids => (
          <SearchChoice
            collection="secrets"
            filter={{ vault_id: vaultId }}
            ids={ids}
            placeholder="Choose a secret"
            value={form.values.store_id}
            onChange={id => form.set('store_id', id)}
          />
        )}
      </Field>
      <TextField form={form} name="pointer" label="Response field, as a JSON pointer" required />
    </>
  );
}
