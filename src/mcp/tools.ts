/**
 * The registry: every tool that there is, once, for all forms of the endpoint and for stdio. A tool says what
 * it reads; reading, refusing and writing down are the vault's. No tool changes anything, and none reaches
 * beyond the vault.
 */
import type { z } from 'zod';
import { check } from '../contract/check.ts';
import { invalid } from '../contract/errors.ts';
import * as contract from '../contract/tools.ts';
import type { Depth, Detail } from '../vault/details.ts';

/** What a call reads, once its arguments are found right. */
export interface Reads {
  readonly detail: Detail;
  /** Takes from the answer what the arguments ask for, where that is less than all of it. */
  readonly pick?: (answer: unknown) => unknown;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodType;
  readonly output: z.ZodType;
  /** Throws where an argument is wrong. */
  readonly reads: (sent: unknown) => Reads;
}

interface Draft<Input extends z.ZodType> extends Omit<Tool, 'input' | 'reads'> {
  readonly input: Input;
  readonly reads: (given: z.output<Input>) => Reads;
}

function tool<Input extends z.ZodType>(draft: Draft<Input>): Tool {
  return { ...draft, reads: sent => draft.reads(check(draft.input, sent)) };
}

const list = (kind: Detail['kind'], depth: Depth): Detail => ({ what: 'list', kind, which: '', depth });
const one = (kind: Detail['kind'], which: string, depth: Depth): Detail => ({
  what: 'one',
  kind,
  which,
  depth,
});

export const tools: readonly Tool[] = [
  tool({
    name: 'secrets.list',
    title: 'List secrets',
    description:
      'Lists the active secrets of the vault. Gives ids and names; values only with namesOnly: false. To use one secret, prefer secrets.get.',
    input: contract.listSecrets,
    output: contract.secretList,
    reads: ({ namesOnly = true }) => ({ detail: list('secret', namesOnly ? 'names' : 'whole') }),
  }),
  tool({
    name: 'secrets.get',
    title: 'Get a secret',
    description:
      'Gets one secret by its exact name: id, name, content type and tags. The value only with includeValue: true; ask for it only when you are about to use it, and don’t repeat it.',
    input: contract.getSecret,
    output: contract.oneSecret,
    reads: ({ name, includeValue = false }) => ({
      detail: one('secret', name, includeValue ? 'whole' : 'facts'),
    }),
  }),
  tool({
    name: 'secrets.search',
    title: 'Search secrets',
    description:
      'Finds active secrets by a part of their name, by a tag, or by both. Never gives values; get those one by one with secrets.get.',
    input: contract.searchSecrets,
    output: contract.secretList,
    reads: ({ name, tag }) => {
      if (name === undefined && tag === undefined) throw invalid('name', 'or tag is required');
      const detail = list('secret', tag === undefined ? 'names' : 'facts');
      return { detail, pick: answer => matching(answer as SecretList, name, tag) };
    },
  }),
  tool({
    name: 'keys.list',
    title: 'List keys',
    description:
      'Lists the vault’s cryptographic keys with type, size and dates, never their material. An expired key is shown as a stub.',
    input: contract.onlyConnections,
    output: contract.keyList,
    reads: () => ({ detail: list('key', 'facts') }),
  }),
  tool({
    name: 'keys.get',
    title: 'Get a key',
    description:
      'Gets one cryptographic key by its id, with its PEM. That may be a private key: where the public half is enough, set preferPublic: true.',
    input: contract.getKey,
    output: contract.oneKey,
    reads: ({ id, preferPublic = false }) => {
      if (id === undefined) throw invalid('id', 'is required');
      return { detail: one('key', id, preferPublic ? 'public' : 'whole') };
    },
  }),
  tool({
    name: 'certificates.list',
    title: 'List certificates',
    description: 'Lists the vault’s certificates with their expiry. An expired one is shown as a stub.',
    input: contract.onlyConnections,
    output: contract.certificateList,
    reads: () => ({ detail: list('certificate', 'facts') }),
  }),
  tool({
    name: 'certificates.get',
    title: 'Get a certificate',
    description: 'Gets one certificate by its id, with its chain in PEM form.',
    input: contract.getCertificate,
    output: contract.oneCertificate,
    reads: ({ id }) => ({ detail: one('certificate', id, 'whole') }),
  }),
  tool({
    name: 'vault.describe',
    title: 'Describe the vault',
    description:
      'Tells which vault this is and what the access key may see of it: kinds, names, limits, expiry. Call it first when a read is refused.',
    input: contract.onlyConnections,
    output: contract.vaultDescription,
    reads: () => ({ detail: { what: 'vault', kind: 'secret', which: '', depth: 'facts' } }),
  }),
];

type SecretList = z.output<typeof contract.secretList>;

function matching({ vault, secrets }: SecretList, name: string | undefined, tag: string | undefined) {
  const part = name?.toLowerCase();
  const [tagName = '', ...tagValue] = tag?.split('=') ?? [];
  const found = secrets.filter(secret => {
    if (part !== undefined && !secret.name.toLowerCase().includes(part)) return false;
    if (tag === undefined) return true;
    const value = Object.entries(secret.tags ?? {}).find(([known]) => known === tagName)?.[1];
    return value !== undefined && (tagValue.length === 0 || value === tagValue.join('='));
  });
  return { vault, secrets: found };
}

/** Dots for those who take them; underscores for clients that refuse a dotted name. Both are always answered. */
export type Naming = 'dotted' | 'underscore';

export const underscored = (name: string) => name.replaceAll('.', '_');
const byName = new Map(
  tools.flatMap(each => [
    [each.name, each],
    [underscored(each.name), each],
  ]),
);

export const unknownTool = 'Unknown tool: tools/list names those that there are';

export function toolNamed(name: unknown): Tool | undefined {
  return typeof name === 'string' ? byName.get(name) : undefined;
}
