/** `strongroom identities …`: manages the machines that may log in, their refused logins and their secret ids. */
import type { Identity } from '../../client/api.ts';
import { identityPresets } from '../../contract/identity-presets.ts';
import { readCommand, readOptions, text, whole } from '../../service/settings/options.ts';
import { Refusal, UsageError } from '../../service/settings/report.ts';
import { type Admin, adminIn, listed } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import type { Command } from '../terminal/command.ts';
import { outOption, printTo } from '../terminal/output.ts';
import { note, printable, printJson, table } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;
const day = 86_400_000;

async function found(admin: Admin, name: string | undefined): Promise<Identity> {
  if (name === undefined) throw new UsageError('the name of an identity is required');
  const all = await listed(admin.listIdentities, { q: name.slice(0, 255) });
  const one = all.find(identity => identity.name === name.normalize('NFC') || identity.id === name);
  if (one === undefined) throw new Refusal(`there is no identity ${printable(JSON.stringify(name))}`);
  return one;
}

export const listCommand: Command = {
  usage: 'identities list [flags]',
  summary: 'print the machines that may log in',
  options,
  about:
    'Prints the identities of the organization: name, id, issuer or method, subjects, and the last login.',
  run: async args => {
    const values = readOptions(options, args, process.env);
    const all = await listed(adminIn(values).listIdentities);
    const lines = all.map(({ name, id, method, issuer, subjects, last_login_at }) => [
      name,
      id,
      issuer ?? method,
      subjects?.join(' ') ?? '-',
      last_login_at ?? 'never',
    ]);
    if (values.json) printJson(all);
    else process.stdout.write(table(lines));
  },
};

export const deleteCommand: Command = {
  usage: 'identities delete NAME [flags]',
  summary: 'delete an identity and its access keys',
  options,
  about: 'Deletes an identity. Its secret ids and access keys stop working immediately.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, 1);
    const admin = adminIn(values);
    const { id, name } = await found(admin, positionals[0]);
    const answer = await admin.deleteIdentity({ id });
    if (values.json) printJson(answer);
    else note(`${printable(name)} is deleted`);
  },
};

export const presetsCommand: Command = {
  usage: 'identities presets [flags]',
  summary: 'print the presets for identities create --preset',
  options: { json: serviceOptions.json },
  about:
    'Prints the presets for well-known issuers, with an example of a subject. Replace the parts in capitals.',
  run: async args => {
    const { json } = readOptions({ json: serviceOptions.json }, args, process.env);
    const lines = identityPresets.map(({ name, issuer, subjects }) => [name, issuer, subjects[0]]);
    if (json) printJson(identityPresets);
    else process.stdout.write(table(lines));
  },
};

export const refusalsCommand: Command = {
  usage: 'identities refusals NAME [flags]',
  summary: 'print why logins as an identity were refused',
  options,
  about: 'Prints the newest refused logins of an identity: time, address, and the condition that failed.',
  run: async args => {
    const { values, positionals } = readCommand(options, args, process.env, 1);
    const admin = adminIn(values);
    const { id } = await found(admin, positionals[0]);
    const query = { action: 'identity.login_refused', subject_id: id, limit: 20 };
    const { data } = await admin.listAuditLogs({ query });
    if (values.json) printJson(data);
    else
      process.stdout.write(
        table(data.map(one => [one.created_at, one.ip_address, String(one.details.reason ?? '')])),
      );
  },
};

const secretIdOptions = {
  ...options,
  uses: whole('N', 'the number of logins that it allows (default: unlimited)', 0, 1, 999_999_999),
  days: whole('N', 'the number of days after which it expires (default: 30)', 30, 1, 366),
  ...outOption,
  label: text('TEXT', 'its name in the list (default: the name of the identity)'),
};

export const secretIdCommand: Command = {
  usage: 'identities secret-id NAME [flags]',
  summary: 'create a secret id for an identity, and print it',
  options: secretIdOptions,
  about:
    'Creates a secret id for an identity with the method secret_id. It is printed once, to standard output; the role id, which\nis not secret, is printed to standard error.',
  run: async args => {
    const { values, positionals } = readCommand(secretIdOptions, args, process.env, 1);
    const admin = adminIn(values);
    const { id } = await found(admin, positionals[0]);
    const created = await admin.createSecretId({
      body: {
        identity_id: id,
        expiration_date: new Date(Date.now() + values.days * day).toISOString(),
        ...(values.uses === 0 ? {} : { max_uses: values.uses }),
        ...(values.label === null ? {} : { name: values.label }),
      },
    });
    if (values.json) await printTo(values.out, `${JSON.stringify(created)}\n`);
    else {
      note(`STRONGROOM_ROLE_ID is ${id}; the secret id is not shown again`);
      await printTo(values.out, `${created.token}\n`);
    }
  },
};
