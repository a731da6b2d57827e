/**
 * Reads the files of other tools as secrets, keys and certificates: `.env`, JSON, YAML, PEM and PKCS#12 files, and the
 * exports of other vaults, as their own commands print them. Errors never repeat the input.
 */
import { parseEnv } from 'node:util';
import { pemBlocksIn } from '../../contract/pem-blocks.ts';
import { Refusal } from '../../service/settings/report.ts';
import { textOf } from '../terminal/input.ts';
import { type Mapping, parseYaml } from './yaml.ts';

export const sources = [
  'dotenv',
  'json',
  'yaml',
  'pem',
  'pkcs12',
  'vault',
  'infisical',
  'doppler',
  '1password',
  'aws',
] as const;
export type ImportSource = (typeof sources)[number];

export type Item =
  | { readonly kind: 'secret'; readonly name: string; readonly value: string; readonly content_type?: string }
  | { readonly kind: 'key' | 'certificate'; readonly name: string; readonly pem: string }
  | { readonly kind: 'pkcs12'; readonly name: string; readonly base64: string };

type Fields = Readonly<Record<string, unknown>>;

/** `stem` is the name of items that have none. */
export async function readItems(bytes: Buffer, source: ImportSource | null, stem: string): Promise<Item[]> {
  const from = source ?? guess(bytes);
  if (from === 'pkcs12') return [{ kind: 'pkcs12', name: stem, base64: bytes.toString('base64') }];
  const text = textOf(bytes, 'the file');
  if (from === 'pem') return fromPem(text, stem);
  if (from === 'dotenv') return secrets(parseEnv(text) as Fields);
  return fromObject(from === 'yaml' ? await parseYaml(text) : jsonIn(text), from);
}

/** PKCS#12 is DER, which begins with a sequence; the other formats are detected from their first characters. */
function guess(bytes: Buffer): ImportSource {
  if (bytes[0] === 0x30 && bytes[1]! >= 0x80) return 'pkcs12';
  const text = bytes.toString('utf8');
  if (/^\s*[[{]/.test(text)) return 'json';
  if (/^\s*-----BEGIN |^Bag Attributes/.test(text)) return 'pem';
  return /^(?:\s*#.*\n|\s*\n)*(?:---|["']?[\w.-]+["']?\s*:(?:\s|$))/.test(text) ? 'yaml' : 'dotenv';
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal('the file is not valid JSON');
  }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Shape = readonly [fits: (value: Fields, from: ImportSource) => boolean, read: (value: Fields) => Item[]];

/** The shape of each tool's output, by which it is also detected if no source is given. */
const shapes: readonly Shape[] = [
  [
    ({ kind, data, stringData }) => kind === 'Secret' && (isFields(data) || isFields(stringData)),
    fromKubernetes,
  ],
  [(value, from) => isFields(value.data) && ('request_id' in value || from === 'vault'), fromVault],
  [isOnePassword, value => fromOnePassword(value, false)],
  [({ SecretValues }) => Array.isArray(SecretValues), value => severalFromAws(value.SecretValues)],
  [value => 'SecretString' in value || 'SecretBinary' in value, value => fromAws(value, false)],
  [(value, from) => from === 'doppler' || 'DOPPLER_PROJECT' in value, fromDoppler],
  [() => true, secrets],
];

function fromObject(value: unknown, from: ImportSource): Item[] {
  if (Array.isArray(value)) return fromList(value);
  if (!isFields(value)) throw new Refusal('the file contains neither an object nor a list');
  const [, read] = shapes.find(([fits]) => fits(value, from))!;
  return read(value);
}

/** Values that are not text are stored as JSON. */
function secrets(fields: Fields): Item[] {
  return Object.entries(fields).map(([name, value]) => ({ kind: 'secret', name, value: written(value) }));
}

function written(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Infisical prints `[{"key": …, "value": …}]`; others use `name`. */
function fromList(list: readonly unknown[]): Item[] {
  if (list.every(isOnePassword)) return list.flatMap(one => fromOnePassword(one, true));
  return list.map((one): Item => {
    const { key, name = key, value } = isFields(one) ? one : ({} as Fields);
    if (typeof name !== 'string' || value === undefined)
      throw new Refusal('an entry of the list has no name or no value');
    return { kind: 'secret', name, value: written(value) };
  });
}

/** Version 2 of Vault's engine has the values one level deeper, next to their metadata. */
function fromVault({ data: found }: Fields): Item[] {
  const data = found as Fields;
  return secrets(isFields(data.data) && isFields(data.metadata) ? data.data : data);
}

/** `secrets download` prints texts, and `secrets --json` objects. Doppler's own three names are left out. */
function fromDoppler(fields: Fields): Item[] {
  const own = Object.entries(fields).filter(([name]) => !/^DOPPLER_(PROJECT|ENVIRONMENT|CONFIG)$/.test(name));
  return secrets(
    Object.fromEntries(
      own.map(([name, value]) => [name, isFields(value) ? (value.computed ?? value.raw ?? '') : value]),
    ),
  );
}

function isOnePassword(value: unknown): value is Fields {
  return isFields(value) && Array.isArray(value.fields) && typeof value.title === 'string';
}

/** A field is named by its label; with several items, the item's title is put before it. */
function fromOnePassword({ title, fields }: Fields, several: boolean): Item[] {
  const filled = (fields as readonly Fields[]).filter(
    ({ value }) => typeof value === 'string' && value !== '',
  );
  return filled.map(({ label, id, value }): Item => {
    const name = String(label || id);
    return { kind: 'secret', name: several ? `${title}/${name}` : name, value: String(value) };
  });
}

function severalFromAws(list: unknown): Item[] {
  return (list as readonly unknown[]).flatMap(one => fromAws(one, true));
}

/** The AWS console stores several values of one secret as a JSON object. */
function fromAws(one: unknown, several: boolean): Item[] {
  const { Name, SecretString, SecretBinary } = isFields(one) ? one : ({} as Fields);
  if (typeof Name !== 'string') throw new Refusal('an entry has no Name');
  if (typeof SecretBinary === 'string')
    return [
      { kind: 'secret', name: Name, value: SecretBinary, content_type: 'application/octet-stream;base64' },
    ];
  const pairs = pairsIn(String(SecretString));
  if (pairs === null) return [{ kind: 'secret', name: Name, value: String(SecretString) }];
  return Object.entries(pairs).map(([key, value]) => ({
    kind: 'secret',
    name: several ? `${Name}/${key}` : key,
    value: written(value),
  }));
}

function pairsIn(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function fromKubernetes({ data, stringData }: Fields): Item[] {
  const decoded = Object.entries((data ?? {}) as Mapping).map(
    ([name, value]) => [name, textOf(Buffer.from(String(value), 'base64'), 'a value of the Secret')] as const,
  );
  return secrets({ ...Object.fromEntries(decoded), ...((stringData ?? {}) as Mapping) });
}

/** The certificates in a file form one chain; each key is stored separately. */
function fromPem(text: string, stem: string): Item[] {
  const blocks = pemBlocksIn(text);
  const chain = blocks.filter(({ label }) => label.endsWith('CERTIFICATE')).map(({ pem }) => pem);
  const keys = blocks.filter(({ label }) => label.endsWith('KEY')).map(({ pem }) => pem);
  if (chain.length + keys.length === 0) throw new Refusal('the file contains no key and no certificate');
  const numbered = (at: number) => (keys.length > 1 ? `${stem}-${at + 1}` : stem);
  const items: Item[] = keys.map((pem, at) => ({ kind: 'key', name: numbered(at), pem: `${pem}\n` }));
  return chain.length === 0
    ? items
    : [...items, { kind: 'certificate', name: stem, pem: `${chain.join('\n')}\n` }];
}
