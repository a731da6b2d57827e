/**
 * Creates the answers of the vault endpoint: a vault with its secrets, one resource by its id, or only names and
 * values. The log entry states exactly what an answer contains: with values or without, the private key or the public
 * key.
 */
import { hash } from 'node:crypto';
import type { Reader, ResourceKind } from '../../access/caller.ts';
import { envLine } from '../../contract/env-file.ts';
import { invalid } from '../../contract/errors.ts';
import { changesWhatRuns } from '../../contract/variable-names.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import { heldBy, keyAttributes } from '../resources/key-attributes.ts';
import type { Templates, VaultAnswer } from './answer-cache.ts';
import type { KeptAnswers } from './kept-answers.ts';
import {
  type AnswerFormat,
  collectionNames,
  type Fields,
  requestedText,
  type Selection,
  selectionKey,
} from './vault-request.ts';
import { type Look, namesAlone, type Turns, type Visibility } from './visibility.ts';

type VaultSelection = Extract<Selection, { of: 'vault' }>;

export type VaultAnswers = ReturnType<typeof vaultAnswersWith>;

export function vaultAnswersWith(visibility: Visibility, kept: KeptAnswers) {
  const { openVault, look, list, byId, opened, validUntil, present } = visibility;

  async function vaultWith(reader: Reader, selection: VaultSelection, turns: Turns): Promise<VaultAnswer> {
    const { keys, certificates } = selection;
    const kinds = ['secret', ...(keys ? ['key'] : []), ...(certificates ? ['certificate'] : [])] as const;
    const looked = await look(reader, await openVault(reader), kinds as readonly ResourceKind[], turns);
    return kept.answer(looked, selectionKey(selection)!, () => vaultOf(looked, selection));
  }

  async function vaultOf(look: Look, selection: VaultSelection): Promise<VaultAnswer> {
    const { reader, vault } = look;
    const namesOnly = selection.namesOnly || reader.namesOnly;
    const secrets = await list(
      look,
      'secret',
      (row, _, resolved) =>
        namesOnly ? { id: row.id, name: row.name } : present.secret(row, vault, resolved),
      !namesOnly,
    );
    const parts: [name: string, part: typeof secrets][] = [['secrets', secrets]];
    for (const kind of ['key', 'certificate'] as const) {
      const name = collectionNames[kind];
      if (!selection[name]) continue;
      const shown = await list(look, kind, (row, expired) =>
        expired ? present.stub(row) : present.listed(reader, row, vault),
      );
      parts.push([name, shown]);
    }
    const collections = Object.fromEntries(parts.map(([name, { items }]) => [name, items]));
    return answer(
      JSON.stringify({
        id: vault.row.id,
        name: vault.row.name,
        ...collections,
        ...omittedBy(secrets.templates),
      }),
      'json',
      requestedText({ ...selection, namesOnly }),
      Math.min(...parts.map(([, { validUntil }]) => validUntil)),
      secrets.templates,
    );
  }

  async function resource(reader: Reader, id: string, turns?: Turns): Promise<VaultAnswer> {
    const vault = await openVault(reader);
    const row = await byId(reader, id);
    if (reader.namesOnly) throw namesAlone();
    const requested = requestedOne(row, 'value');
    if (row.type !== 'secret') return answer(present.pem(row, vault), 'pem', requested, validUntil(row));
    const found = await opened(row, vault, turns?.dependsOn);
    const text = JSON.stringify(present.secret(row, vault, found.value));
    return answer(text, 'json', requested, found.validUntil, found.templates);
  }

  async function values(reader: Reader, format: 'map' | 'env', turns: Turns): Promise<VaultAnswer> {
    const vault = await openVault(reader);
    // The answer consists only of values.
    if (reader.namesOnly) throw namesAlone();
    const looked = await look(reader, vault, ['secret'], turns);
    return kept.answer(looked, format, () => valuesOf(looked, format));
  }

  async function valuesOf(look: Look, format: 'map' | 'env'): Promise<VaultAnswer> {
    const { vault } = look;
    const found = await list(
      look,
      'secret',
      (row, _, resolved = present.value(row, vault)) => [row.name, resolved],
      true,
    );
    const { validUntil, templates } = found;
    const pairs = found.items as readonly (readonly [name: string, value: string])[];
    return format === 'map'
      ? answer(JSON.stringify(Object.fromEntries(pairs)), 'json', 'format=map', validUntil, templates)
      : answer(pairs.map(envLineOf).join(''), 'text', 'format=env', validUntil, templates);
  }

  return { vault: vaultWith, resource, values };
}

/** The field that names what was left out, if anything was. */
export function omittedBy(templates: Templates | undefined): { readonly unresolved?: readonly string[] } {
  return templates === undefined || templates.unresolved.length === 0
    ? {}
    : { unresolved: templates.unresolved };
}

function envLineOf([name, value]: readonly [name: string, value: string]): string {
  if (changesWhatRuns(name))
    throw invalid('format', `can’t be env: ${name} would change what a program runs; use format=map`);
  const line = envLine(name, value);
  if (line !== null) return `${line}\n`;
  throw invalid('format', `can’t be env: ${name} can’t be written so that node, bash and docker all read it`);
}

/** Whether it is the value of a secret, or made from it. */
export function isOfValue(fields: Fields): boolean {
  return fields === 'value' || fields === 'code';
}

/** What is returned for one resource, as the log states it: a value or none, the private key or the public key. */
export function requestedOne(row: ResourceRow, fields: Fields): string {
  if (row.type === 'certificate') return `certificate ${row.name}`;
  if (row.type === 'secret') return `secret=${isOfValue(fields) ? fields : 'metadata'} ${row.name}`;
  const isPublic = fields === 'public-half' || fields === 'jwks' || fields === 'versions';
  const half = isPublic ? 'public' : heldBy(keyAttributes(row));
  return `key=${half} ${row.name}`;
}

export function answer(
  text: string,
  format: AnswerFormat,
  requested: string,
  validUntil: number,
  templates?: Templates,
): VaultAnswer {
  const body = Buffer.from(text, 'utf8');
  const digest = format === 'pem' ? null : hash('sha256', body, 'base64url').slice(0, 27);
  const answered = { body, format, digest, requested, validUntil };
  return templates === undefined ? answered : { ...answered, templates };
}
