/**
 * Creates or edits a secret in the side panel. The form starts with the current value if the person may reveal it, which
 * is recorded; an unchanged value creates no new version. Less common fields are shown on request.
 */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import { ChevronDown } from 'lucide-react';
import { useState } from 'react';
import { update } from '../../api/changes.ts';
import { post } from '../../api/client.ts';
import { type Form, useForm } from '../../api/form.ts';
import type { Secret } from '../../api/types.ts';
import { useRefresh } from '../../api/use.ts';
import { Button } from '../../ui/button.tsx';
import { CodeField } from '../../ui/code-field.tsx';
import { DateField, expiryOf, momentOf } from '../../ui/date-field.tsx';
import { localOf } from '../../ui/dates.ts';
import { SidePanel } from '../../ui/dialog.tsx';
import { FormButtons } from '../../ui/form-dialog.tsx';
import { useRemark } from '../../ui/remark.ts';
import { TagsField, tagLines, tagsOf } from '../../ui/tags-field.tsx';
import { AreaField, CheckField, TextField } from '../../ui/text-field.tsx';
import { note, noteUpdate } from '../../ui/toast.tsx';
import { Generator } from './generator.tsx';
import { OwnerField } from './owner-field.tsx';
import { Reached } from './secret-links.tsx';

const empty = {
  name: '',
  value: '',
  template: false,
  content_type: 'text/plain',
  tags: '',
  note: '',
  owner_id: '',
  enabled: true,
  activation_date: '',
  expiration_date: '',
};

type Values = typeof empty;

function valuesOf(secret: Secret, value: string): Values {
  return {
    name: secret.name,
    value,
    template: secret.kind === 'template',
    content_type: secret.content_type,
    tags: tagLines(secret.tags),
    note: secret.note,
    owner_id: secret.owner_id ?? '',
    enabled: secret.enabled,
    activation_date: localOf(secret.activation_date),
    expiration_date: localOf(secret.expiration_date),
  };
}

function bodyOf(values: Values, before: Secret | undefined): object {
  const { value, template, ...others } = values;
  return {
    ...others,
    kind: template ? 'template' : 'value',
    tags: tagsOf(values.tags),
    owner_id: values.owner_id || null,
    activation_date: momentOf(values.activation_date),
    expiration_date: expiryOf(values.expiration_date, before?.expiration_date),
  };
}

export function NewSecret({ vaultId, onClose }: { vaultId: string; onClose: () => void }) {
  const form = useForm(empty);
  const refresh = useRefresh();
  async function save(values: Values) {
    const { value } = values;
    await post('/v1/secrets', { vault_id: vaultId, ...bodyOf(values, undefined), value });
    await refresh('secrets', 'vaults');
    note(`Secret “${values.name}” created`);
    onClose();
  }
  return (
    <SidePanel open onClose={onClose} title="New secret" keep>
      <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
        <NameField form={form} />
        <ValueFields form={form} label="Value" required hint="Up to 64 KiB." />
        <MoreFields form={form} open={false} />
        <FormButtons form={form} action="Create secret" onCancel={onClose} />
      </form>
    </SidePanel>
  );
}

interface EditSecretProps {
  readonly secret: Secret;
  /** Null if the person may not reveal it. */
  readonly current: string | null;
  readonly onClose: () => void;
}

/** Replaces the content of the secret's panel. */
export function EditSecret({ secret, current, onClose }: EditSecretProps) {
  const form = useForm(valuesOf(secret, current ?? ''));
  const refresh = useRefresh();
  async function save(values: Values) {
    const changedOf = (those: Values) => ({ ...bodyOf(those, secret), value: those.value });
    const { initial } = form;
    // Another kind gives the same text another meaning, so it is sent again.
    const before = {
      ...changedOf(initial),
      ...(values.template === initial.template ? {} : { value: null }),
    };
    noteUpdate('Secret', await update<object>(`/v1/secrets/${secret.id}`, before, changedOf(values)));
    await refresh('secrets', 'versions');
    onClose();
  }
  const next = `A new value becomes version ${secret.version + 1}.`;
  return (
    <form className="flex flex-col gap-4" onSubmit={form.submit(save)}>
      <ValueFields
        form={form}
        label={current === null ? 'New value' : 'Value'}
        optional={current === null}
        hint={current === null ? `Leave empty to keep version ${secret.version}. ${next}` : next}
      />
      <NameField form={form} />
      <MoreFields form={form} open={hasMore(secret)} />
      <Reached secret={secret} />
      <FormButtons form={form} action="Save" onCancel={onClose} />
    </form>
  );
}

function hasMore({ tags, activation_date, expiration_date, ...secret }: Secret): boolean {
  const { content_type, enabled, note, owner_id } = secret;
  const isPlain = content_type === empty.content_type && enabled && note === '' && owner_id === null;
  return !isPlain || Object.keys(tags).length > 0 || activation_date !== null || expiration_date !== null;
}

function NameField({ form }: { form: Form<Values> }) {
  return (
    <TextField
      form={form}
      name="name"
      label="Name"
      required
      maxLength={255}
      placeholder="DATABASE_URL"
      className="font-mono text-xs"
    />
  );
}

interface ValueFieldsProps {
  readonly form: Form<Values>;
  readonly label: string;
  readonly hint: string;
  readonly required?: boolean;
  readonly optional?: boolean;
}

function ValueFields({ form, ...field }: ValueFieldsProps) {
  const { value, content_type } = form.values;
  const remark = useRemark(value, content_type);
  return (
    <>
      <CodeField
        {...field}
        name="value"
        value={value}
        error={form.errorOf('value')}
        remark={remark}
        onChange={text => form.set('value', text)}
      />
      <Generator onGenerate={text => form.set('value', text)} />
      <CheckField
        form={form}
        name="template"
        label="Template"
        hint={
          <>
            <code>{'${NAME}'}</code> stands for another secret of this vault,{' '}
            <code>{'${vault:VAULT/NAME}'}</code> for one of another vault.
          </>
        }
      />
    </>
  );
}

const formats = [
  ['text/plain', 'Text'],
  ['application/json', 'JSON'],
  ['application/yaml', 'YAML'],
  ['application/octet-stream;base64', 'Binary, as base64'],
] as const;

/** Dates, tags, note, owner, format and state: shown on request, or if one of them is set. */
function MoreFields({ form, open }: { form: Form<Values>; open: boolean }) {
  const [shown, setShown] = useState(open);
  if (!shown) {
    return (
      <div>
        <Button look="quiet" size="small" onClick={() => setShown(true)}>
          <ChevronDown className="size-4" aria-hidden /> Expiry, tags, note and more
        </Button>
      </div>
    );
  }
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <DateField form={form} name="activation_date" label="Active from" optional />
        <DateField form={form} name="expiration_date" label="Expires" optional />
      </div>
      <TextField
        form={form}
        name="content_type"
        label="Content type"
        required
        maxLength={255}
        list="content-types"
        hint="JSON and YAML are checked while you type."
      />
      <datalist id="content-types">
        {formats.map(([type, text]) => (
          <option key={type} value={type}>
            {text}
          </option>
        ))}
      </datalist>
      <TagsField form={form} />
      <AreaField
        form={form}
        name="note"
        label="Note"
        optional
        rows={3}
        hint="For people, in Markdown: what it is for, how it is renewed. Don’t write secrets here."
      />
      <OwnerField form={form} />
      <CheckField
        form={form}
        name="enabled"
        label="Enabled"
        hint="A disabled secret is kept but can’t be read through the vault."
      />
    </>
  );
}
