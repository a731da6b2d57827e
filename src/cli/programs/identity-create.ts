/** `strongroom identities create`: lets a machine log in, with the preset of its platform or only with flags. */
import type { IdentityCreate } from '../../client/api.ts';
import { identityPresets } from '../../contract/identity-presets.ts';
import { choice, flag, names, type readCommand, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { adminFor } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf } from '../terminal/input.ts';
import { printable, printCreated } from '../terminal/terminal.ts';

const list = (value: string, help: string) => ({ ...names(help), value });
const options = {
  ...serviceOptions,
  preset: choice(
    'the platform: fills in issuer and audience',
    identityPresets.map(({ name }) => name),
  ),
  method: choice('how it proves its identity (default: jwt)', ['jwt', 'secret_id', 'certificate'] as const),
  issuer: text('URL', 'the issuer of its tokens, exactly as in their iss claim'),
  audience: text('TEXT', 'the audience of its tokens (default: strongroom)'),
  subject: list('PATTERN[,PATTERN]', 'patterns for its subject, in which * matches anything'),
  claim: list('NAME=PATTERN[,…]', 'further claims that must match'),
  jwks: text('FILE', 'the issuer’s public keys, if the service can’t reach it'),
  ca: text('FILE', 'the certificate authorities that issue its client certificates, in PEM'),
  only: names('restrict it to secrets with these names, in which * matches anything'),
  lifetime: whole('SECONDS', 'the lifetime of its access keys (default: 900)', 900, 60, 3_600),
  'single-use': flag('accept each token only once'),
};
type Values = ReturnType<typeof readCommand<typeof options>>['values'];

export const command = commandOf({
  usage: 'identities create NAME [flags]',
  summary: 'let a machine log in without a stored key',
  options,
  about:
    'Creates an identity for the vault in --vault and prints its id. Set STRONGROOM_IDENTITY to it in the machine’s environment\n(STRONGROOM_ROLE_ID if it logs in with a secret id).',
  missing: 'a name for the identity is required',
  run: async (values, name) => {
    const settings = settingsFor(values, process.env);
    const admin = adminFor(settings);
    const trust = trustIn(values);
    const { id: vault } = await admin.vault(settings.vault);
    const created = await admin.createIdentity({
      body: {
        name,
        ...trust,
        vault_ids: [vault],
        lifetime: values.lifetime,
        ...(values.only.length === 0 ? {} : { kinds: ['secret'], names: values.only }),
      },
    });
    await printCreated(values, created, created.id, `${printable(name)} may log in`);
  },
});

function trustIn(values: Values): Omit<IdentityCreate, 'name' | 'vault_ids'> {
  const method = values.method ?? 'jwt';
  if (method === 'secret_id') return { method };
  if (values.subject.length === 0) throw new UsageError(`--subject is required${exampleFor(values)}`);
  if (method === 'certificate')
    return { method, subjects: values.subject, ca_pem: required('ca', values.ca) };
  const preset = identityPresets.find(({ name }) => name === values.preset);
  return {
    method,
    issuer: values.issuer ?? replaced('issuer', preset?.issuer),
    audience: values.audience ?? replaced('audience', preset?.audience ?? 'strongroom'),
    subjects: values.subject,
    claims: claimsIn(values.claim),
    single_use: values['single-use'],
    ...(values.jwks === null ? {} : { jwks: keysIn(values.jwks) }),
  };
}

function exampleFor({ preset }: Values): string {
  const found = identityPresets.find(({ name }) => name === preset);
  return found === undefined ? '' : `, such as ${found.subjects[0]}`;
}

function required(name: string, file: string | null): string {
  if (file === null) throw new UsageError(`--${name} is required`);
  return contentOf(file);
}

/** In a preset, words in capitals are placeholders for the user's own names. */
function replaced(name: string, value: string | undefined): string {
  if (value !== undefined && !/[A-Z]{2}/.test(value)) return value;
  throw new UsageError(`--${name} is required${value === undefined ? '' : `, such as ${value}`}`);
}

function claimsIn(given: readonly string[]): Record<string, string[]> {
  const claims: Record<string, string[]> = {};
  for (const one of given) {
    const at = one.lastIndexOf('=');
    if (at <= 0) throw new UsageError('--claim must be of the form NAME=PATTERN');
    claims[one.slice(0, at)] = [...(claims[one.slice(0, at)] ?? []), one.slice(at + 1)];
  }
  return claims;
}

function keysIn(file: string) {
  try {
    return JSON.parse(contentOf(file));
  } catch {
    throw new UsageError('--jwks names a file that is not JSON');
  }
}
