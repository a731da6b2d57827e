/** `strongroom import`: stores the export of another tool. With --dry-run, it only prints what it would do. */
import { basename, extname } from 'node:path';
import { choice, flag, text } from '../../service/settings/options.ts';
import { Refusal } from '../../service/settings/report.ts';
import { type Admin, adminFor } from '../connection/admin.ts';
import { serviceOptions, settingsFor } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { bytesOf, bytesOfInput, contentOf } from '../terminal/input.ts';
import { progress } from '../terminal/progress.ts';
import { note, painter, printable, printJson } from '../terminal/terminal.ts';
import { type Item, readItems, sources } from './import-formats.ts';

const options = {
  ...serviceOptions,
  from: choice('the format of the file (default: detected from its content)', sources),
  'dry-run': flag('only print what would be done'),
  'skip-existing': flag('don’t update existing secrets'),
  name: text('NAME', 'the name of a key or certificate (default: that of the file)'),
  'passphrase-file': text('FILE', 'a file with the passphrase of a PKCS#12 file or an encrypted key'),
};

type Deed = 'create' | 'update' | 'skip';

interface Planned {
  readonly item: Item;
  readonly deed: Deed;
  readonly id: string | null;
  /** If it was a template before. */
  readonly becomes?: { readonly kind: 'value' } | undefined;
}

export const command = commandOf({
  usage: 'import FILE|- [flags]',
  summary: 'store secrets, keys and certificates from a file or another product’s export',
  options,
  completes: 'files',
  about:
    'Reads .env, JSON, YAML, PEM and PKCS#12 files, Kubernetes Secrets, and exports of HashiCorp Vault, Infisical, Doppler,\n1Password and AWS Secrets Manager. Existing secrets get a new version.',
  missing: 'the name of a file is required, or - for standard input',
  run: async (values, file) => {
    const settings = settingsFor(values, process.env);
    const bytes = file === '-' ? await bytesOfInput() : bytesOf(file);
    const items = await readItems(bytes, values.from, values.name ?? basename(file, extname(file)));
    refuseTwins(items);
    const admin = adminFor(settings);
    const vault = await admin.vault(settings.vault);
    const plan = await planFor(admin, vault.id, items, values['skip-existing']);
    if (!values['dry-run']) await carryOut(admin, vault.id, plan, values['passphrase-file']);
    report(plan, values.json, values['dry-run']);
  },
});

function refuseTwins(items: readonly Item[]): void {
  if (items.length === 0) throw new Refusal('the file contains nothing to import');
  const seen = new Set<string>();
  for (const { kind, name } of items) {
    const one = `${kind} ${name.normalize('NFC')}`;
    if (seen.has(one)) throw new Refusal(`the file contains ${printable(JSON.stringify(name))} twice`);
    seen.add(one);
  }
}

async function planFor(
  admin: Admin,
  vaultId: string,
  items: readonly Item[],
  skips: boolean,
): Promise<Planned[]> {
  const known = new Map((await admin.secrets(vaultId)).map(secret => [secret.name, secret]));
  return items.map(item => {
    const found = item.kind === 'secret' ? known.get(item.name.normalize('NFC')) : undefined;
    const id = found?.id ?? null;
    const becomes = found?.kind === 'template' ? { kind: 'value' as const } : undefined;
    return { item, id, becomes, deed: id === null ? 'create' : skips ? 'skip' : 'update' };
  });
}

const bulkSize = 100;

async function carryOut(
  admin: Admin,
  vaultId: string,
  plan: readonly Planned[],
  passphraseFile: string | null,
) {
  const todo = plan.filter(({ deed }) => deed !== 'skip');
  const secrets = todo.filter(({ item }) => item.kind === 'secret');
  const failures: string[] = [];
  const bar = progress(todo.length);
  for (let at = 0; at < secrets.length; at += bulkSize) {
    const part = secrets.slice(at, at + bulkSize);
    failures.push(...(await storeSecrets(admin, vaultId, part)));
    bar.advance(part.length);
  }
  const passphrase =
    passphraseFile === null ? {} : { passphrase: contentOf(passphraseFile).replace(/\r?\n$/, '') };
  for (const { item } of todo.filter(one => one.item.kind !== 'secret')) {
    failures.push(...(await storeMaterial(admin, vaultId, item, passphrase)));
    bar.advance(1);
  }
  bar.end();
  for (const line of failures) note(line);
  if (failures.length > 0) throw new Refusal(`${failures.length} of ${todo.length} could not be imported`);
}

async function storeSecrets(admin: Admin, vaultId: string, part: readonly Planned[]): Promise<string[]> {
  const items = part.flatMap(({ item: { kind, ...body }, id, becomes }) =>
    !('value' in body) ? [] : id === null ? { vault_id: vaultId, ...body } : { id, ...body, ...becomes },
  );
  const { results } = await admin.writeSecrets({ body: { items } });
  return results.flatMap(({ index, error, proposal }) => {
    if (proposal)
      return [`${printable(part[index]!.item.name)}: sent for review at ${printable(proposal.url)}`];
    if (error === undefined) return [];
    const { field, reason } = error.details;
    return [
      `${printable(part[index]!.item.name)}: ${printable(`${field} ${reason}`.trim() || error.message)}`,
    ];
  });
}

async function storeMaterial(
  admin: Admin,
  vaultId: string,
  item: Item,
  passphrase: object,
): Promise<string[]> {
  const common = { vault_id: vaultId, name: item.name };
  try {
    if (item.kind === 'key') await admin.createKey({ body: { ...common, pem: item.pem, ...passphrase } });
    if (item.kind === 'certificate') await admin.createCertificate({ body: { ...common, pem: item.pem } });
    if (item.kind === 'pkcs12')
      await admin.createCertificate({ body: { ...common, pkcs12: item.base64, ...passphrase } });
    return [];
  } catch (error) {
    if (error instanceof Refusal) return [`${printable(item.name)}: ${error.message}`];
    throw error;
  }
}

const marks: Readonly<Record<Deed, [mark: string, colour: 'green' | 'yellow' | 'bold']>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  skip: ['=', 'bold'],
};

function report(plan: readonly Planned[], json: boolean, dry: boolean): void {
  const shown = plan.map(({ item: { kind, name }, deed }) => ({ kind, name, action: deed }));
  if (json) {
    printJson({ dry_run: dry, items: shown });
    return;
  }
  const paint = painter(process.env);
  const lines = shown.map(({ kind, name, action }) => {
    const [mark, colour] = marks[action];
    return `${paint(colour, `${mark} ${printable(name)}`)}${kind === 'secret' ? '' : ` (${kind})`}\n`;
  });
  process.stdout.write(lines.join(''));
  if (dry) note('dry run: nothing was changed');
}
