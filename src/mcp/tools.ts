/**
 * The registry of all tools, for every form of the endpoint and for stdio. A tool declares its credential and what it
 * reads or uses; the vault does the reading, using, refusing and recording. Tools for use come first, and tools that
 * show values last.
 */
import type { z } from 'zod';
import type { ResourceKind } from '../access/caller.ts';
import { check } from '../contract/check.ts';
import { invalid } from '../contract/errors.ts';
import * as contract from '../contract/tools.ts';
import type { UseCall } from '../contract/uses.ts';
import type { Fields, ItemSelection, KindSelection, Selection } from '../domain/reads/vault-request.ts';
import type { KeyCall } from '../domain/uses/key-uses.ts';

/** What a call with an access key reads. */
export interface ToolRead {
  readonly selection: Selection;
  /** Reduces the answer to what the arguments ask for. */
  readonly filter?: (answer: unknown) => unknown;
}

/** What a call with an access key uses. */
export type ToolUse = { readonly use: UseCall } | { readonly key: KeyCall };

/** A public token among the arguments, and the key that they name. */
interface PublicTokenCall {
  readonly token: string;
  readonly keyId: string | null;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  /** Whether it changes nothing, here or elsewhere. */
  readonly readOnly: boolean;
  /** Whether it acts on anything outside the vault. */
  readonly reachesOut: boolean;
  /** What a call with an access key reads or uses. Throws if an argument is invalid. */
  readonly byAccessKey: (sent: unknown) => ToolRead | ToolUse;
  /** The public token of a call; null if it needs an access key. Throws if an argument is invalid. */
  readonly publicTokenIn: (sent: Readonly<Record<string, unknown>>) => PublicTokenCall | null;
}

interface ToolDeclaration<Input extends z.ZodType>
  extends Pick<Tool, 'name' | 'title' | 'description' | 'output'>,
    Partial<Pick<Tool, 'readOnly' | 'reachesOut'>> {
  readonly input: Input;
  readonly asks: (given: z.output<Input>) => ToolRead | ToolUse;
  /** Called if there is a public token in `code`: such a call needs no access key and no vault. */
  readonly publicToken?: (given: z.output<Input>) => PublicTokenCall;
}

/** By default, a tool only reads. */
function toolOf<Input extends z.ZodType>({ asks, publicToken, ...tool }: ToolDeclaration<Input>): Tool {
  return {
    readOnly: true,
    reachesOut: false,
    ...tool,
    byAccessKey: sent => asks(check(tool.input, sent)),
    publicTokenIn: sent =>
      sent.code === undefined ? null : (publicToken?.(check(tool.input, sent)) ?? null),
  };
}

const every = (kind: ResourceKind, fields: Fields): KindSelection => ({ of: 'kind', kind, fields });
const one = (kind: ResourceKind, nameOrId: string, fields: Fields): ItemSelection => ({
  of: 'item',
  kind,
  nameOrId,
  fields,
});

export const tools: readonly Tool[] = [
  toolOf({
    name: 'secrets.use',
    title: 'Use a secret',
    description:
      'Makes an HTTP call with a secret that you never see, if a use rule of the secret allows it. Prefer it to reading a value. If a person has to approve the call, the result names the page: ask the user to open it, then call again with the same arguments.',
    input: contract.useSecret,
    output: contract.secretUse,
    readOnly: false,
    reachesOut: true,
    asks: ({ vault: _, credentials: __, ...use }) => ({ use }),
  }),
  toolOf({
    name: 'keys.sign',
    title: 'Sign with a key',
    description:
      'Signs bytes, or the claims of a JSON Web Token, with a key that you never see, if a use rule of the key allows it.',
    input: contract.signWithKey,
    output: contract.signature,
    readOnly: false,
    asks: ({ vault: _, credentials: __, ...call }) => ({ key: { operation: 'sign', call } }),
  }),
  toolOf({
    name: 'keys.verify',
    title: 'Verify a signature',
    description: 'Verifies a signature with a key of the vault.',
    input: contract.verifyWithKey,
    output: contract.verification,
    readOnly: false,
    asks: ({ vault: _, credentials: __, ...call }) => ({ key: { operation: 'verify', call } }),
  }),
  toolOf({
    name: 'keys.decrypt',
    title: 'Decrypt with a key',
    description: 'Decrypts a short text with an RSA key that you never see.',
    input: contract.decryptWithKey,
    output: contract.decryption,
    readOnly: false,
    asks: ({ vault: _, credentials: __, ...call }) => ({ key: { operation: 'decrypt', call } }),
  }),
  toolOf({
    name: 'vault.describe',
    title: 'Describe the vault',
    description:
      'Describes the vault and what the access key may do in it. Call it first when something is refused.',
    input: contract.onlyConnections,
    output: contract.vaultDescription,
    asks: () => ({ selection: { of: 'access-key' } }),
  }),
  toolOf({
    name: 'secrets.search',
    title: 'Search secrets',
    description: 'Finds active secrets by part of their name, by a tag, or by both. Never returns values.',
    input: contract.searchSecrets,
    output: contract.secretList,
    asks: ({ name, tag }) => {
      if (name === undefined && tag === undefined) throw invalid('name', 'or tag is required');
      const selection = every('secret', tag === undefined ? 'names' : 'metadata');
      return { selection, filter: answer => matching(answer as SecretList, name, tag) };
    },
  }),
  toolOf({
    name: 'secrets.list',
    title: 'List secrets',
    description:
      'Lists the active secrets of the vault: ids and names; values only with namesOnly: false. To use one, prefer secrets.use.',
    input: contract.listSecrets,
    output: contract.secretList,
    asks: ({ namesOnly = true }) => ({ selection: every('secret', namesOnly ? 'names' : 'value') }),
  }),
  toolOf({
    name: 'keys.list',
    title: 'List keys',
    description:
      'Lists the vault’s keys with type, size and dates, never the keys themselves. An expired one is a stub.',
    input: contract.onlyConnections,
    output: contract.keyList,
    asks: () => ({ selection: every('key', 'metadata') }),
  }),
  toolOf({
    name: 'certificates.list',
    title: 'List certificates',
    description: 'Lists the vault’s certificates with their expiry. An expired one is a stub.',
    input: contract.onlyConnections,
    output: contract.certificateList,
    asks: () => ({ selection: every('certificate', 'metadata') }),
  }),
  toolOf({
    name: 'certificates.get',
    title: 'Get a certificate',
    description: 'Gets one certificate by its id, with its chain in PEM form.',
    input: contract.getCertificate,
    output: contract.oneCertificate,
    asks: ({ id }) => ({ selection: one('certificate', id, 'value') }),
  }),
  toolOf({
    name: 'keys.get',
    title: 'Get a key',
    description:
      'Gets one key by its id, with its PEM, which may be a private key. If the public key is enough, set preferPublic: true.',
    input: contract.getKey,
    output: contract.oneKey,
    asks: ({ id, preferPublic }) => {
      if (id === undefined) throw invalid('id', 'is required');
      return { selection: one('key', id, preferPublic ? 'public-half' : 'value') };
    },
    publicToken: ({ code, id = null }) => ({ token: code!, keyId: id }),
  }),
  toolOf({
    name: 'secrets.get',
    title: 'Get a secret',
    description:
      'Gets one secret by its exact name: id, content type and tags; its value only with includeValue: true. Prefer secrets.use, which needs no value, and don’t repeat one.',
    input: contract.getSecret,
    output: contract.oneSecret,
    asks: ({ name, includeValue }) => ({
      selection: one('secret', name, includeValue ? 'value' : 'metadata'),
    }),
  }),
];

type SecretList = z.output<typeof contract.secretList>;

function matching({ vault, secrets }: SecretList, name = '', tag?: string) {
  const part = name.toLowerCase();
  const [tagName, ...tagValue] = tag?.split('=') ?? [];
  const isTagged = ({ tags = {} }: SecretList['secrets'][number]) => {
    const value = Object.entries(tags).find(([known]) => known === tagName)?.[1];
    return value !== undefined && (tagValue.length === 0 || value === tagValue.join('='));
  };
  const found = secrets.filter(
    secret => secret.name.toLowerCase().includes(part) && (tag === undefined || isTagged(secret)),
  );
  return { vault, secrets: found };
}

/** Underscores are for clients that refuse dotted names. Calls with either name are always answered. */
export type Naming = 'dotted' | 'underscore';

export const underscored = (name: string) => name.replaceAll('.', '_');
const byName = new Map(
  tools.flatMap(each => [
    [each.name, each],
    [underscored(each.name), each],
  ]),
);

export const unknownTool = 'Unknown tool: see tools/list';

export function toolNamed(name: unknown): Tool | undefined {
  return byName.get(name as string);
}
