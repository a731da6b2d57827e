/** `strongroom authorities …`: creates certificate authorities in a vault, and prints what clients need to trust them. */
import { flag, repeated, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { foundIn, inVault, listed } from '../connection/admin.ts';
import { byName } from '../connection/resources.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { expiryInWords } from '../terminal/dates.ts';
import { contentOf } from '../terminal/input.ts';
import {
  done,
  outOption,
  printable,
  printCreated,
  printJson,
  printList,
  printTo,
} from '../terminal/terminal.ts';

type InVault = Awaited<ReturnType<typeof inVault>>;

/** An authority of this vault, by its name or id. */
export function authorityNamed({ admin, vault }: InVault, named: string) {
  return foundIn(
    ({ query = {} }: Parameters<InVault['admin']['listAuthorities']>[0] & object) =>
      admin.listAuthorities({ query: { ...query, vault_id: vault.id } }),
    'authority',
    named,
  );
}

export const listCommand = commandOf({
  usage: 'authorities list [flags]',
  summary: 'print the certificate authorities of a vault',
  options: serviceOptions,
  about: 'Prints the certificate authorities of a vault: name, kind, state, subject, expiry and id.',
  run: async values => {
    const { admin, vault } = await inVault(values);
    const all = byName(await listed(admin.listAuthorities, { vault_id: vault.id }));
    printList(values.json, all, ({ name, kind, state, subject, expires_at, id }) => [
      name,
      kind,
      state,
      subject,
      expires_at === null ? '-' : expiryInWords(expires_at),
      id,
    ]);
  },
});

const createOptions = {
  ...serviceOptions,
  subject: text('NAME', 'the name in its certificate, such as CN=Example Root,O=Example (default: CN=NAME)'),
  years: whole('N', 'how long its certificate is valid (default: 10)', 10, 1, 30),
  under: text('AUTHORITY', 'create an intermediate that this root authority signs'),
  permit: repeated('DOMAIN', 'a domain or range of addresses that its certificates may have', one => one),
  unconstrained: flag('let an intermediate issue for all names'),
  elsewhere: flag('print a request (CSR) to be signed by an authority elsewhere'),
  ...outOption,
};

export const createCommand = commandOf({
  usage: 'authorities create NAME [flags]',
  summary: 'create a certificate authority',
  options: createOptions,
  about:
    'Creates a root authority, or an intermediate with --under or --elsewhere. Its private key is created by the service and\nnever leaves it. Prints the certificate or the request, for --out.',
  more: 'Example:\n  strongroom authorities create root --vault pki --subject "CN=Example Root,O=Example"\n',
  missing: 'a name for the authority is required',
  run: async (values, name) => {
    const { under, elsewhere, permit, unconstrained } = values;
    if (under !== null && elsewhere) throw new UsageError('--under and --elsewhere exclude each other');
    const place = await inVault(values);
    const permitted = permit.length > 0 ? { permitted_names: [...permit] } : {};
    const created = await place.admin.createAuthority({
      body: {
        vault_id: place.vault.id,
        name,
        subject: values.subject ?? `CN=${name}`,
        years: values.years,
        ...(under === null && !elsewhere ? {} : { kind: 'intermediate' as const }),
        ...(under === null ? {} : { parent_id: (await authorityNamed(place, under)).id }),
        ...permitted,
        ...(unconstrained ? { permitted_names: null } : {}),
      },
    });
    const said = elsewhere
      ? `bring the certificate back with: strongroom authorities complete ${printable(name)} FILE`
      : `the authority ${printable(name)} is created`;
    const pem = created.certificate ?? created.request ?? '';
    await printCreated(values, created, pem.trimEnd(), said);
  },
});

export const completeCommand = commandOf({
  usage: 'authorities complete NAME FILE [flags]',
  summary: 'bring back the certificate of an authority that was signed elsewhere',
  options: serviceOptions,
  about:
    'Stores the certificate in a PEM file, which must also contain the certificates above it, up to the root.',
  missing: 'the name of an authority and the name of a file are required',
  upTo: 2,
  run: async (values, named, [file]) => {
    if (file === undefined) throw new UsageError('the name of a file is required');
    const certificate = contentOf(file);
    const place = await inVault(values);
    const { id } = await authorityNamed(place, named);
    const updated = await place.admin.updateAuthority({ id, body: { certificate } });
    done(values.json, updated, `${printable(updated.name)} can issue certificates`);
  },
});

export const trustCommand = commandOf({
  usage: 'authorities trust NAME [flags]',
  summary: 'print the certificates by which clients trust an authority',
  options: { ...serviceOptions, ...outOption },
  about: 'Prints the certificate of an authority and those above it, up to the root, as PEM.',
  more: 'Example:\n  strongroom authorities trust root --vault pki --out /usr/local/share/ca-certificates/example.crt\n',
  missing: 'the name of an authority is required',
  run: async (values, named) => {
    const { certificate, chain } = await authorityNamed(await inVault(values), named);
    if (values.json) return printJson({ certificate, chain });
    if (certificate === null) throw new UsageError('the authority has no certificate yet');
    await printTo(values.out, certificate + chain);
  },
});
