/** `strongroom profiles …`: decides which certificates an authority issues, and issues them. */
import { repeated, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { foundIn, inVault, listed } from '../connection/admin.ts';
import { byName } from '../connection/resources.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf } from '../terminal/input.ts';
import {
  note,
  outOption,
  printable,
  printCreated,
  printJson,
  printList,
  printTo,
} from '../terminal/terminal.ts';
import { authorityNamed } from './authorities.ts';

type InVault = Awaited<ReturnType<typeof inVault>>;

/** A profile of this vault, by its name or id. */
function profileNamed({ admin, vault }: InVault, named: string) {
  return foundIn(
    ({ query = {} }: Parameters<InVault['admin']['listProfiles']>[0] & object) =>
      admin.listProfiles({ query: { ...query, vault_id: vault.id } }),
    'profile',
    named,
  );
}

export const listCommand = commandOf({
  usage: 'profiles list [flags]',
  summary: 'print the profiles for certificates of a vault',
  options: serviceOptions,
  about: 'Prints the profiles of a vault: name, the names that it allows, the longest life and id.',
  run: async values => {
    const { admin, vault } = await inVault(values);
    const all = byName(await listed(admin.listProfiles, { vault_id: vault.id }));
    printList(values.json, all, ({ name, allowed_names, max_days, id }) => [
      name,
      allowed_names.join(' '),
      `${max_days} days`,
      id,
    ]);
  },
});

const createOptions = {
  ...serviceOptions,
  authority: text('NAME', 'the authority that issues (required)'),
  allow: repeated('PATTERN', 'names that are allowed, such as **.example.org or 10.0.0.0/8', one => one),
  days: whole('N', 'the longest life of its certificates (default: 30)', 30, 1, 90),
};

export const createCommand = commandOf({
  usage: 'profiles create NAME --authority NAME --allow PATTERN [flags]',
  summary: 'create a profile for certificates',
  options: createOptions,
  about: 'Creates a profile by which an authority issues certificates, and prints its id.',
  more: 'Example:\n  strongroom profiles create services --vault pki --authority root --allow "**.internal.example"\n',
  missing: 'a name for the profile is required',
  run: async (values, name) => {
    if (values.authority === null) throw new UsageError('--authority is required');
    if (values.allow.length === 0) throw new UsageError('--allow is required');
    const place = await inVault(values);
    const { id } = await authorityNamed(place, values.authority);
    const created = await place.admin.createProfile({
      body: { name, authority_id: id, allowed_names: [...values.allow], max_days: values.days },
    });
    await printCreated(values, created, created.id, `the profile ${printable(name)} is created`);
  },
});

const issueOptions = {
  ...serviceOptions,
  csr: text('FILE', 'a signing request, instead of names'),
  days: whole('N', 'how long it is valid (default: as long as the profile allows)', 0, 1, 90),
  'key-out': text('FILE', 'write the private key to FILE, which only you can read'),
  ...outOption,
};

export const issueCommand = commandOf({
  usage: 'profiles issue PROFILE [NAME...] [flags]',
  summary: 'issue a certificate',
  options: issueOptions,
  about:
    'Issues a certificate for host names and addresses, or for a signing request, and prints it with those above it. The private\nkey that is created for names is written to --key-out, and not stored by the service.',
  more: 'Example:\n  strongroom profiles issue services api.internal.example --vault pki --out api.pem --key-out api.key\n',
  missing: 'the name of a profile is required',
  upTo: 101,
  run: async (values, named, names) => {
    const { csr, days } = values;
    if ((csr === null) === (names.length === 0)) throw new UsageError('either names or --csr are required');
    if (csr === null && values['key-out'] === null && !values.json)
      throw new UsageError('--key-out is required, because the private key is not shown again');
    const place = await inVault(values);
    const { id } = await profileNamed(place, named);
    const issued = await place.admin.issueCertificate({
      id,
      body: {
        ...(csr === null ? { names: [...names] } : { csr: contentOf(csr) }),
        ...(days === 0 ? {} : { days }),
      },
    });
    if (values.json) return printJson(issued);
    const key = issued.private_key;
    if (key !== undefined && values['key-out'] !== null) await printTo(values['key-out'], key);
    await printTo(values.out, issued.certificate + issued.chain);
    note(`issued for ${printable(issued.names.join(', '))}; it expires ${issued.expires_at}`);
  },
});
