/**
 * What an issuer consists of beside its name and lives: the connection to its service and the template of what it
 * creates. Both are sealed with the vault's key, bound to the issuer and its revision.
 */

import type { Connection, Template } from '../../contract/issuers.ts';
import type { Sealer } from '../../keyring/keyring.ts';
import type { IssuerRow } from '../../store/records/leases.ts';

export interface IssuerContent {
  readonly connection: Connection;
  readonly template: Template;
}

type Revision = Pick<IssuerRow, 'id' | 'revision'>;

function contentPlace({ id, revision }: Revision) {
  return { type: 'issuer', resource: id, field: 'content', version: revision };
}

export function sealIssuer(sealer: Sealer, revision: Revision, content: IssuerContent) {
  return sealer.seal(contentPlace(revision), Buffer.from(JSON.stringify(content), 'utf8'));
}

export function openIssuer(sealer: Sealer, row: IssuerRow): IssuerContent {
  return JSON.parse(sealer.open(contentPlace(row), row.content).toString('utf8')) as IssuerContent;
}
