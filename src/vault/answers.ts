/** Makes the answers of the vault endpoint: a vault with its secrets, or one resource by its id. */
import { hash as digest } from 'node:crypto';
import type { Reader } from '../access/caller.ts';
import { Failure } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import type { Reading } from './reading.ts';
import type { ReadyAnswer } from './ready.ts';

export interface Selection {
  readonly namesOnly: boolean;
  readonly keys: boolean;
  readonly certificates: boolean;
  /** The id of the one resource that is asked for, or null for a list. */
  readonly resource: string | null;
}

export const json = 'application/json; charset=utf-8';
const pem = 'application/x-pem-file';

export type Answers = ReturnType<typeof answersWith>;

export function answersWith({ openVault, list, byId, validUntil, present }: Reading) {
  async function whole(reader: Reader, selection: Selection): Promise<ReadyAnswer> {
    const vault = await openVault(reader);
    const namesOnly = selection.namesOnly || reader.namesOnly;
    const secrets = await list(reader, 'secret', row =>
      namesOnly ? { id: row.id, name: row.name } : present.secret(row, vault),
    );
    const keys = selection.keys
      ? await list(reader, 'key', (row, expired) => (expired ? present.stub(row) : present.key(row, vault)))
      : null;
    const certificates = selection.certificates
      ? await list(reader, 'certificate', (row, expired) =>
          expired ? present.stub(row) : present.certificate(row, vault),
        )
      : null;
    const body = {
      id: vault.row.id,
      name: vault.row.name,
      secrets: secrets.items,
      ...(keys === null ? {} : { keys: keys.items }),
      ...(certificates === null ? {} : { certificates: certificates.items }),
    };
    const parts = [secrets, keys, certificates].filter(part => part !== null);
    return answer(
      JSON.stringify(body),
      json,
      requestedText(selection),
      Math.min(...parts.map(part => part.validUntil)),
    );
  }

  async function one(reader: Reader, id: string): Promise<ReadyAnswer> {
    const vault = await openVault(reader);
    const row = await byId(reader, id);
    if (reader.namesOnly) throw new Failure('FORBIDDEN');
    const requested = `${row.type} ${row.name}`;
    return row.type === 'secret'
      ? answer(JSON.stringify(present.secret(row, vault)), json, requested, validUntil(row))
      : answer(present.pem(row, vault), pem, requested, validUntil(row));
  }

  return {
    make: (reader: Reader, selection: Selection): Promise<ReadyAnswer> =>
      selection.resource === null ? whole(reader, selection) : one(reader, selection.resource),
  };
}

/** What a selection asks for, as the log says it where no single resource is named. */
export function requestedText({ resource, namesOnly, keys, certificates }: Selection): string {
  if (resource !== null) return isId(resource) ? `resource ${resource}` : 'resource';
  const parts = [
    namesOnly ? 'secrets=names' : 'secrets',
    keys ? 'keys' : '',
    certificates ? 'certificates' : '',
  ];
  return parts.filter(part => part !== '').join(',');
}

export function answer(
  text: string,
  contentType: string,
  requested: string,
  validUntil: number,
): ReadyAnswer {
  const body = Buffer.from(text, 'utf8');
  const etag = `"${digest('sha256', body, 'base64url').slice(0, 27)}"`;
  return { body, contentType, etag, requested, validUntil };
}
