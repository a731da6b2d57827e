/** `strongroom identities …`: manages the machines that may log in, their failed logins and their secret ids. */
import { identityPresets } from '../../contract/identity-presets.ts';
import { text, whole } from '../../service/settings/options.ts';
import { type Admin, adminIn, foundIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, outOption, printable, printCreated, printList } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;
const day = 86_400_000;

const found = (admin: Admin, named: string) => foundIn(admin.listIdentities, 'identity', named);

export const listCommand = commandOf({
  usage: 'identities list [flags]',
  summary: 'print the machines that may log in',
  options,
  about:
    'Prints the identities of the organization: name, id, issuer or method, subjects, and the last login.',
  run: async values => {
    const all = await listed(adminIn(values).listIdentities);
    printList(values.json, all, ({ name, id, method, issuer, subjects, last_login_at }) => [
      name,
      id,
      issuer ?? method,
      subjects?.join(' ') ?? '-',
      last_login_at ?? 'never',
    ]);
  },
});

export const deleteCommand = commandOf({
  usage: 'identities delete NAME [flags]',
  summary: 'delete an identity and its access keys',
  options,
  about: 'Deletes an identity. Its secret ids and access keys stop working immediately.',
  missing: 'the name of an identity is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id, name } = await found(admin, named);
    done(values.json, await admin.deleteIdentity({ id }), `deleted ${printable(name)}`);
  },
});

export const presetsCommand = commandOf({
  usage: 'identities presets [flags]',
  summary: 'print the presets for identities create --preset',
  options: { json: serviceOptions.json },
  about:
    'Prints the presets for well-known issuers, with an example of a subject. Replace the parts in capitals.',
  run: async ({ json }) =>
    printList(json, identityPresets, ({ name, issuer, subjects }) => [name, issuer, subjects[0]]),
});

export const refusalsCommand = commandOf({
  usage: 'identities refusals NAME [flags]',
  summary: 'print why logins as an identity were refused',
  options,
  about: 'Prints the newest failed logins of an identity: time, address, and the condition that failed.',
  missing: 'the name of an identity is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id } = await found(admin, named);
    const query = { action: 'identity.login_refused', subject_id: id, limit: 20 };
    const { data } = await admin.listAuditLogs({ query });
    printList(values.json, data, one => [one.created_at, one.ip_address, String(one.details.reason ?? '')]);
  },
});

const secretIdOptions = {
  ...options,
  uses: whole('N', 'the number of logins that it allows (default: unlimited)', 0, 1, 999_999_999),
  days: whole('N', 'the number of days after which it expires (default: 30)', 30, 1, 366),
  ...outOption,
  label: text('TEXT', 'its name in the list (default: the name of the identity)'),
};

export const secretIdCommand = commandOf({
  usage: 'identities secret-id NAME [flags]',
  summary: 'create a secret id for an identity, and print it',
  options: secretIdOptions,
  about:
    'Creates a secret id for an identity with the method secret_id. It is printed once, to standard output; the role id, which\nis not secret, is printed to standard error.',
  missing: 'the name of an identity is required',
  run: async (values, named) => {
    const admin = adminIn(values);
    const { id } = await found(admin, named);
    const created = await admin.createSecretId({
      body: {
        identity_id: id,
        expiration_date: new Date(Date.now() + values.days * day).toISOString(),
        ...(values.uses === 0 ? {} : { max_uses: values.uses }),
        ...(values.label === null ? {} : { name: values.label }),
      },
    });
    const said = `STRONGROOM_ROLE_ID is ${id}; the secret id is not shown again`;
    await printCreated(values, created, created.token, said);
  },
});
