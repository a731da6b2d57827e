/**
 * Parses the query of the vault endpoint into a selection, by its contract. A fault is returned and not thrown, because
 * the credential is checked first.
 */
import { check } from '../../contract/check.ts';
import { type Failure, invalid } from '../../contract/errors.ts';
import { type VaultReadQuery, vaultReadQuery } from '../../contract/vault-read.ts';
import type { Selection } from '../../domain/reads/vault-request.ts';
import { failureOf } from '../listener/errors.ts';

const allSecrets: Selection = { of: 'vault', namesOnly: false, keys: false, certificates: false };

export function selectionIn(url: string): Selection | Failure {
  const query = url.indexOf('?');
  if (query < 0) return allSecrets;
  try {
    return selectionOf(parametersOf(url.slice(query)));
  } catch (error) {
    return failureOf(error);
  }
}

function selectionOf({ secrets, include, resource, name, as, format }: VaultReadQuery): Selection {
  if (as !== undefined && (name === undefined || resource !== undefined))
    throw invalid('as', 'requires name, and can’t be combined with resource');
  if (resource !== undefined) return { of: 'resource', id: resource };
  const fields = as === undefined ? 'value' : 'code';
  if (name !== undefined) return { of: 'item', kind: 'secret', nameOrId: name, fields };
  if (format !== undefined && secrets !== undefined) {
    throw invalid('format', 'can’t be combined with secrets=names, because it returns values');
  }
  if (format !== undefined) return { of: 'values', format };
  return {
    of: 'vault',
    namesOnly: secrets === 'names',
    keys: include?.includes('keys') ?? false,
    certificates: include?.includes('certificates') ?? false,
  };
}

function parametersOf(query: string): VaultReadQuery {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (parameters.getAll(name).length > 1) throw invalid(name.slice(0, 32), 'must be given once');
  }
  const include = parameters.get('include');
  if (include !== null) parameters.set('include', withoutSpace(include));
  return check(vaultReadQuery, Object.fromEntries(parameters));
}

function withoutSpace(list: string): string {
  return list
    .split(',')
    .map(part => part.trim())
    .join(',');
}
