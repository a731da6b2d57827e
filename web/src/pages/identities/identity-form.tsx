/** Creates an identity, from a platform preset if there is one, or edits it. */
import { type Form, useForm } from '../../api/form.ts';
import { type Identity, identityPresets, type LoginMethod } from '../../api/types.ts';
import {
  RestrictionFields,
  type RestrictionValues,
  restrictionsOf,
  restrictionValuesOf,
} from '../../shared/restriction-fields.tsx';
import { Field } from '../../ui/field.tsx';
import { linesOf } from '../../ui/lines.ts';
import { ResourceForm } from '../../ui/resource-form.tsx';
import { SearchChoices, vaults } from '../../ui/search-choice.tsx';
import { AreaField, CheckField, ChoiceField, TextField } from '../../ui/text-field.tsx';

interface Values extends RestrictionValues {
  /** A preset's name, or the login method if there is no preset. */
  platform: string;
  name: string;
  issuer: string;
  jwks: string;
  audience: string;
  subjects: string;
  claims: string;
  single_use: boolean;
  ca_pem: string;
  vault_ids: readonly string[];
  lifetime: string;
}

const platforms: readonly (readonly [string, string])[] = [
  ...identityPresets.map(({ name, title }) => [name, title] as const),
  ['jwt', 'Another token issuer'],
  ['secret_id', 'Secret ID'],
  ['certificate', 'Client certificate'],
];
const presetOf = (platform: string) => identityPresets.find(({ name }) => name === platform);
const methodOf = (platform: string): LoginMethod =>
  platform === 'secret_id' || platform === 'certificate' ? platform : 'jwt';

function valuesOf(identity: Identity | undefined): Values {
  const [first] = identityPresets;
  const claims = Object.entries(identity?.claims ?? {});
  return {
    platform: identity?.method ?? first.name,
    name: identity?.name ?? '',
    issuer: identity ? (identity.issuer ?? '') : first.issuer,
    jwks: identity?.jwks ? JSON.stringify(identity.jwks) : '',
    audience: identity ? (identity.audience ?? '') : first.audience,
    subjects: identity?.subjects?.join('\n') ?? '',
    claims: claims.flatMap(([name, patterns]) => patterns.map(one => `${name}=${one}`)).join('\n'),
    single_use: identity?.single_use ?? false,
    ca_pem: identity?.ca_pem ?? '',
    vault_ids: identity?.vault_ids ?? [],
    lifetime: String(identity?.lifetime ?? 900),
    ...restrictionValuesOf(identity),
  };
}

export function IdentityForm({ identity, onClose }: { identity?: Identity; onClose: () => void }) {
  const form = useForm(valuesOf(identity));
  return (
    <ResourceForm
      wide
      what="identity"
      collection="identities"
      refreshes={['access-keys']}
      resource={identity}
      description={identity ? 'Saving invalidates its current access keys.' : undefined}
      form={form}
      bodyOf={values => bodyOf(values, identity)}
      creationOf={values => ({ ...bodyOf(values, identity), method: methodOf(values.platform) })}
      onClose={onClose}
    >
      {!identity && <PlatformField form={form} />}
      <TextField form={form} name="name" label="Name" required maxLength={255} placeholder="deploy" />
      <Proof form={form} />
      <VaultsChoice form={form} />
      <TextField
        form={form}
        name="lifetime"
        label="Access key lifetime, in seconds"
        type="number"
        min={60}
        max={3600}
        required
      />
      <RestrictionFields form={form} />
    </ResourceForm>
  );
}

function PlatformField({ form }: { form: Form<Values> }) {
  const choose = (platform: string) => {
    const preset = presetOf(platform);
    form.set('platform', platform);
    form.set('issuer', preset?.issuer ?? '');
    form.set('audience', preset?.audience ?? (methodOf(platform) === 'jwt' ? 'strongroom' : ''));
    const claims = Object.entries<readonly string[]>(preset?.claims ?? {});
    form.set('claims', claims.map(([name, patterns]) => `${name}=${patterns[0]}`).join('\n'));
  };
  const hint = presetOf(form.values.platform)?.hint.replaceAll('`', '');
  const bound = { form, choices: platforms, onChoose: choose, hint };
  return <ChoiceField {...bound} name="platform" label="Platform" />;
}

function Proof({ form }: { form: Form<Values> }) {
  const method = methodOf(form.values.platform);
  if (method === 'secret_id') return null;
  if (method === 'certificate') return <CertificateFields form={form} />;
  return (
    <>
      <TextField form={form} name="issuer" label="Issuer" hint="Exactly as in its tokens (iss)." />
      <TextField form={form} name="audience" label="Audience" required />
      <AreaField
        form={form}
        name="subjects"
        label="Subjects"
        required
        rows={2}
        placeholder={presetOf(form.values.platform)?.subjects[0] ?? ''}
        hint="One pattern per line; * matches anything. Include your own organization: a public issuer signs tokens for everyone."
      />
      <AreaField
        form={form}
        name="claims"
        label="Claims"
        optional
        rows={2}
        placeholder="repository_owner_id=9919"
        hint="One NAME=PATTERN per line; every name must match."
      />
      <AreaField
        form={form}
        name="jwks"
        label="Public keys (JWKS)"
        optional
        rows={2}
        hint="Only if the service can’t reach the issuer. Otherwise, they are fetched."
      />
      <CheckField
        form={form}
        name="single_use"
        label="Single use"
        hint="Each token is valid for one login."
      />
    </>
  );
}

function CertificateFields({ form }: { form: Form<Values> }) {
  return (
    <>
      <AreaField form={form} name="ca_pem" label="Certificate authorities (PEM)" required />
      <AreaField
        form={form}
        name="subjects"
        label="Subjects"
        required
        rows={2}
        placeholder="dns:build.example.com"
        hint="One pattern per line: a subject such as CN=build-*, or a name such as dns:build.example.com."
      />
    </>
  );
}

function VaultsChoice({ form }: { form: Form<Values> }) {
  return (
    <Field
      label="Vaults"
      hint="A login gives access to the first one unless it requests another."
      error={form.errorOf('vault_ids')}
    >
      {ids => (
        <SearchChoices
          {...vaults}
          ids={ids}
          placeholder="Choose vaults"
          value={form.values.vault_ids}
          onChange={chosen => form.set('vault_ids', chosen)}
        />
      )}
    </Field>
  );
}

function bodyOf(values: Values, before: Identity | undefined): object {
  const method = methodOf(values.platform);
  const common = {
    name: values.name,
    vault_ids: values.vault_ids,
    lifetime: Number(values.lifetime),
    ...restrictionsOf(values, before),
  };
  if (method === 'secret_id') return common;
  const subjects = linesOf(values.subjects);
  if (method === 'certificate') return { ...common, subjects, ca_pem: values.ca_pem };
  return {
    ...common,
    subjects,
    issuer: values.issuer === '' ? null : values.issuer,
    audience: values.audience,
    claims: claimsOf(values.claims),
    jwks: values.jwks.trim() === '' ? null : parsed(values.jwks),
    single_use: values.single_use,
  };
}

/** Invalid JSON is passed on as text: the service refuses it with an error for the field. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function claimsOf(lines: string): Record<string, string[]> {
  const claims: Record<string, string[]> = {};
  for (const line of linesOf(lines)) {
    const at = line.lastIndexOf('=');
    const name = at < 0 ? line : line.slice(0, at);
    claims[name] = [...(claims[name] ?? []), at < 0 ? '' : line.slice(at + 1)];
  }
  return claims;
}
