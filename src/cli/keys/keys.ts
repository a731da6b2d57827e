/** `strongroom keys …`: lists, creates, rotates and prints the keys of a vault. */
import type { KeyCreate, KeySpecification } from '../../client/api.ts';
import { choice, flag, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { type Admin, foundIn, inVault, listed } from '../connection/admin.ts';
import { byName } from '../connection/resources.ts';
import { serviceOptions } from '../connection/settings.ts';
import { tagOption } from '../connection/tags.ts';
import { commandOf } from '../terminal/command.ts';
import { endOption, expiryInWords } from '../terminal/dates.ts';
import { contentOf } from '../terminal/input.ts';
import { done, outOption, printable, printCreated, printList, printTo } from '../terminal/terminal.ts';

/** Every key that the service can generate, by the name that people use for it. */
const kinds: Readonly<Record<string, KeySpecification>> = {
  'P-256': { key_type: 'EC', curve: 'P-256' },
  'P-384': { key_type: 'EC', curve: 'P-384' },
  'P-521': { key_type: 'EC', curve: 'P-521' },
  secp256k1: { key_type: 'EC', curve: 'secp256k1' },
  Ed25519: { key_type: 'OKP', curve: 'Ed25519' },
  X25519: { key_type: 'OKP', curve: 'X25519' },
  'RSA-2048': { key_type: 'RSA', key_size: 2048 },
  'RSA-3072': { key_type: 'RSA', key_size: 3072 },
  'RSA-4096': { key_type: 'RSA', key_size: 4096 },
  'ML-DSA-44': { key_type: 'ML-DSA', key_size: 44 },
  'ML-DSA-65': { key_type: 'ML-DSA', key_size: 65 },
  'ML-DSA-87': { key_type: 'ML-DSA', key_size: 87 },
  'ML-KEM-512': { key_type: 'ML-KEM', key_size: 512 },
  'ML-KEM-768': { key_type: 'ML-KEM', key_size: 768 },
  'ML-KEM-1024': { key_type: 'ML-KEM', key_size: 1024 },
  'AES-256': { key_type: 'AES', key_size: 256 },
  'HMAC-256': { key_type: 'HMAC', key_size: 256 },
  'HMAC-384': { key_type: 'HMAC', key_size: 384 },
  'HMAC-512': { key_type: 'HMAC', key_size: 512 },
};
const usualKind = 'P-256';

/** A key of this vault, by its name or id. */
async function keyNamed(admin: Admin, vault_id: string, named: string) {
  return foundIn(
    ({ query = {} }: Parameters<Admin['listKeys']>[0] & object) =>
      admin.listKeys({ query: { ...query, vault_id } }),
    'key',
    named,
  );
}

export const listCommand = commandOf({
  usage: 'keys list [flags]',
  summary: 'print the keys of a vault',
  options: serviceOptions,
  about: 'Prints the keys of a vault, without private keys: name, type, version, expiry and id.',
  more: 'Example:\n  strongroom keys list --vault payments\n',
  run: async values => {
    const { admin, vault } = await inVault(values);
    const all = byName(await listed(admin.listKeys, { vault_id: vault.id }));
    printList(values.json, all, ({ name, key_type, key_size, curve, version, expiration_date, id }) => [
      name,
      curve ?? `${key_type}-${key_size}`,
      `version ${version}`,
      expiryInWords(expiration_date),
      id,
    ]);
  },
});

const sourceOptions = {
  kind: choice('the kind of key to generate', Object.keys(kinds)),
  pem: text('FILE', 'store the key in this PEM file instead of generating one'),
  'passphrase-file': text('FILE', 'a file with the passphrase of the PEM file'),
};

interface Source {
  readonly kind: string | null;
  readonly pem: string | null;
  readonly 'passphrase-file': string | null;
}

function materialIn({ kind, pem, 'passphrase-file': file }: Source) {
  if (kind !== null && pem !== null) throw new UsageError('--kind can’t be combined with --pem');
  const passphrase = file === null ? {} : { passphrase: contentOf(file).replace(/\r?\n$/, '') };
  if (pem !== null) return { pem: contentOf(pem), ...passphrase };
  return kind === null ? {} : { generate: kinds[kind]! };
}

export const createCommand = commandOf({
  usage: 'keys create NAME [flags]',
  summary: 'create a key, or store one from a file',
  options: {
    ...serviceOptions,
    ...sourceOptions,
    kind: { ...sourceOptions.kind, help: `the kind of key to generate (default: ${usualKind})` },
    'not-exportable': flag('never reveal the private key, to anyone'),
    tag: tagOption('add a tag'),
    expires: endOption('when the key expires, such as 2027-01-31 or 90d'),
  },
  about: 'Generates a key in a vault, or stores the one in a PEM file, and prints its id.',
  more: 'Example:\n  strongroom keys create signing --kind Ed25519 --not-exportable\n',
  missing: 'a name for the key is required',
  run: async (values, name) => {
    const material = materialIn({ ...values, kind: values.kind ?? (values.pem === null ? usualKind : null) });
    const { admin, vault } = await inVault(values);
    const body: KeyCreate = {
      vault_id: vault.id,
      name,
      ...material,
      ...(values['not-exportable'] ? { exportable: false } : {}),
      ...(values.tag.length === 0 ? {} : { tags: Object.fromEntries(values.tag) }),
      ...(values.expires === null ? {} : { expiration_date: values.expires.at }),
    };
    const created = await admin.createKey({ body });
    await printCreated(values, created, created.id, `the key ${printable(name)} is created`);
  },
});

export const rotateCommand = commandOf({
  usage: 'keys rotate NAME [flags]',
  summary: 'give a key new key material, as a new version',
  options: { ...serviceOptions, ...sourceOptions },
  completes: 'keys',
  about:
    'Generates new material of the same kind for a key, or of the kind in --kind, or stores that of a PEM file, as a new version.',
  more: 'Example:\n  strongroom keys rotate signing\n',
  missing: 'the name of a key is required',
  run: async (values, named) => {
    const body = materialIn(values);
    const { admin, vault } = await inVault(values);
    const { id, name } = await keyNamed(admin, vault.id, named);
    const rotated = await admin.rotateKey({ id, body });
    done(values.json, rotated, `${printable(name)} is now version ${rotated.version}`);
  },
});

export const publicCommand = commandOf({
  usage: 'keys public NAME [flags]',
  summary: 'print a public key',
  options: { ...serviceOptions, ...outOption },
  completes: 'keys',
  about: 'Prints the public key of a key, as PEM.',
  more: 'Example:\n  strongroom keys public signing > signing.pub.pem\n',
  missing: 'the name of a key is required',
  run: async (values, named) => {
    const { admin, vault } = await inVault(values);
    const key = await keyNamed(admin, vault.id, named);
    await printPem(values, key, key.public_pem);
  },
});

export const exportCommand = commandOf({
  usage: 'keys export NAME [flags]',
  summary: 'print a private key',
  options: { ...serviceOptions, ...outOption },
  completes: 'keys',
  about:
    'Prints the private key of a key as PEM (PKCS#8), if it may be exported. It is recorded in the audit log. --out writes it to\na file that only you can read.',
  more: 'Example:\n  strongroom keys export signing --out signing.pem\n',
  missing: 'the name of a key is required',
  run: async (values, named) => {
    const { admin, vault } = await inVault(values);
    const { id } = await keyNamed(admin, vault.id, named);
    const revealed = await admin.revealKey({ id });
    await printPem(values, revealed, revealed.pem);
  },
});

interface Printing {
  readonly json: boolean;
  readonly out: string | null;
}

async function printPem({ json, out }: Printing, record: object, pem: string): Promise<void> {
  await printTo(out, json ? `${JSON.stringify(record)}\n` : pem.replace(/\n*$/, '\n'));
}
