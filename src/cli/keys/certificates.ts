/** `strongroom certificates …`: lists the certificates of a vault, and stores new ones and their successors. */
import { text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { type Admin, foundIn, inVault, listed } from '../connection/admin.ts';
import { byName } from '../connection/resources.ts';
import { serviceOptions } from '../connection/settings.ts';
import { tagOption } from '../connection/tags.ts';
import { commandOf } from '../terminal/command.ts';
import { expiryInWords } from '../terminal/dates.ts';
import { bytesOf, contentOf, textOf } from '../terminal/input.ts';
import { done, printable, printCreated, printList } from '../terminal/terminal.ts';

export const listCommand = commandOf({
  usage: 'certificates list [flags]',
  summary: 'print the certificates of a vault',
  options: serviceOptions,
  about: 'Prints the certificates of a vault: name, version, expiry, subject, names and id.',
  more: 'Example:\n  strongroom certificates list --vault payments\n',
  run: async values => {
    const { admin, vault } = await inVault(values);
    const all = byName(await listed(admin.listCertificates, { vault_id: vault.id }));
    printList(values.json, all, ({ name, version, expires_at, subject, sans, id }) => [
      name,
      `version ${version}`,
      expiryInWords(expires_at),
      subject,
      (sans ?? []).join(' ') || '-',
      id,
    ]);
  },
});

const passphraseOption = {
  'passphrase-file': text('FILE', 'a file with the passphrase of a PKCS#12 file or of an encrypted key'),
};

/** PKCS#12 is DER, which begins with a sequence; anything else must be PEM. */
function materialIn(file: string, passphraseFile: string | null) {
  const bytes = bytesOf(file);
  const passphrase =
    passphraseFile === null ? {} : { passphrase: contentOf(passphraseFile).replace(/\r?\n$/, '') };
  const isBinary = bytes[0] === 0x30 && (bytes[1] ?? 0) >= 0x80;
  return isBinary
    ? { pkcs12: bytes.toString('base64'), ...passphrase }
    : { pem: textOf(bytes, 'the file'), ...passphrase };
}

function fileIn(file: string | undefined): string {
  if (file === undefined)
    throw new UsageError('a name for the certificate and the name of a file are required');
  return file;
}

export const addCommand = commandOf({
  usage: 'certificates add NAME FILE [flags]',
  summary: 'store a certificate from a file',
  options: { ...serviceOptions, ...passphraseOption, tag: tagOption('add a tag') },
  about:
    'Stores a certificate and its chain from a PEM or PKCS#12 file, with its private key if the file contains it, and prints\nits id.',
  more: 'Example:\n  strongroom certificates add web fullchain.pem\n',
  missing: 'a name for the certificate and the name of a file are required',
  upTo: 2,
  run: async (values, name, [file]) => {
    const material = materialIn(fileIn(file), values['passphrase-file']);
    const { admin, vault } = await inVault(values);
    const tags = values.tag.length === 0 ? {} : { tags: Object.fromEntries(values.tag) };
    const created = await admin.createCertificate({
      body: { vault_id: vault.id, name, ...material, ...tags },
    });
    await printCreated(values, created, created.id, `the certificate ${printable(name)} is stored`);
  },
});

export const renewCommand = commandOf({
  usage: 'certificates renew NAME FILE [flags]',
  summary: 'store the successor of a certificate, as a new version',
  options: { ...serviceOptions, ...passphraseOption },
  completes: 'certificates',
  about:
    'Stores the certificate in a PEM or PKCS#12 file as a new version of an existing one, under the same name and id. Readers\nget it immediately.',
  more: 'Example:\n  strongroom certificates renew web fullchain.pem\n',
  missing: 'the name of a certificate and the name of a file are required',
  upTo: 2,
  run: async (values, named, [file]) => {
    const body = materialIn(fileIn(file), values['passphrase-file']);
    const { admin, vault } = await inVault(values);
    const { id, name } = await certificateNamed(admin, vault.id, named);
    const renewed = await admin.updateCertificate({ id, body });
    const said = `${printable(name)} is now version ${renewed.version}, and expires ${renewed.expires_at}`;
    done(values.json, renewed, said);
  },
});

/** A certificate of this vault, by its name or id. */
async function certificateNamed(admin: Admin, vault_id: string, named: string) {
  return foundIn(
    ({ query = {} }: Parameters<Admin['listCertificates']>[0] & object) =>
      admin.listCertificates({ query: { ...query, vault_id } }),
    'certificate',
    named,
  );
}
