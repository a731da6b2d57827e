/**
 * API key calls in Vault's dialect: the general API, addressed by the names of vaults and secrets. A vault is mounted
 * under its name and under its id. For an API key that is restricted to one vault, `secret/` is that vault.
 */
import type { Caller } from '../../access/caller.ts';
import { vaultsAllowing } from '../../access/policy.ts';
import { Failure } from '../../contract/errors.ts';
import { isId } from '../../contract/id.ts';
import type { SecretPlace } from '../../domain/resources/named-secrets.ts';
import { isRead } from '../listener/request.ts';
import type { AppParts } from '../surface/surface-parts.ts';
import { allSecrets, depthIn, ownMount } from './access-key-reads.ts';
import type { DialectAnswer, DialectCall } from './calls.ts';
import {
  authForm,
  configForm,
  dataForm,
  historyForm,
  listForm,
  lookupForm,
  mountForm,
  noMount,
  notFound,
  subkeysForm,
  Unsupported,
  versionMetadata,
} from './forms.ts';
import { type StoreCall, type Target, type TokenCall, versionIn } from './target.ts';
import { transitCallsWith } from './transit/api-key-calls.ts';
import { writesWith } from './writes.ts';

type ApiKeyCalls = (call: DialectCall, asked: Target, caller: Caller) => Promise<DialectAnswer>;

export function apiKeyCallsWith({ domain, now }: AppParts): ApiKeyCalls {
  const { namedSecrets } = domain;
  const write = writesWith(domain);
  const transit = transitCallsWith(domain);

  /** An id is returned as it is; the operation itself looks up the vault. */
  async function vaultOf(caller: Caller, mount: string): Promise<string> {
    const given = mount === ownMount ? vaultsAllowing(caller, 'secrets:read') : null;
    if (given?.length === 1) return given[0]!;
    return isId(mount) ? mount : namedSecrets.vaultNamed(caller, mount);
  }

  async function read(
    caller: Caller,
    asked: StoreCall,
    place: SecretPlace,
    url: string,
  ): Promise<DialectAnswer> {
    const { verb, path, isList } = asked;
    if (verb === 'config' || isList) return ok(await ofVault(caller, asked, place.vaultId));
    if (path === '') throw notFound();
    if (verb === 'metadata') return ok(historyForm(await namedSecrets.history(caller, place)));
    if (path === allSecrets)
      throw new Unsupported('use an access key of the vault to read all of its secrets');
    if (verb === 'data') return data(caller, place, versionIn(url));
    if (verb === 'subkeys') return subkeys(caller, place, url);
    throw new Unsupported('unsupported operation');
  }

  async function ofVault(caller: Caller, { verb, path }: StoreCall, vaultId: string): Promise<object> {
    if (verb !== 'config') return listForm(await namedSecrets.names(caller, vaultId), path.normalize('NFC'));
    await namedSecrets.checkVault(caller, vaultId);
    return configForm;
  }

  /** For a deleted secret, the 404 has its deletion time, so that clients can tell it from one that never existed. */
  async function data(caller: Caller, place: SecretPlace, version: number | null): Promise<DialectAnswer> {
    try {
      const secret = await namedSecrets.reveal(caller, place, version);
      return { status: 200, data: dataForm(secret) };
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'NOT_FOUND') throw error;
      const deleted = await namedSecrets.deleted(caller, place);
      if (deleted === null || (version !== null && version !== deleted.version)) throw error;
      const metadata = versionMetadata(deleted, deleted.deleted_at);
      return { status: 404, data: JSON.stringify({ data: null, metadata }) };
    }
  }

  async function subkeys(caller: Caller, place: SecretPlace, url: string): Promise<DialectAnswer> {
    const depth = depthIn(url);
    const secret = await namedSecrets.reveal(caller, place, versionIn(url));
    return ok(subkeysForm(secret, depth));
  }

  /** The mount is the longest prefix of the path that names a vault. */
  async function mount(caller: Caller, path: string): Promise<DialectAnswer> {
    const segments = path.split('/');
    for (let length = segments.length; length > 0; length--) {
      const name = segments.slice(0, length).join('/');
      const vaultId = await mounted(caller, name);
      if (vaultId !== null) return ok(mountForm(vaultId, name));
    }
    throw noMount();
  }

  async function mounted(caller: Caller, name: string): Promise<string | null> {
    try {
      const vaultId = await vaultOf(caller, name);
      await namedSecrets.checkVault(caller, vaultId);
      return vaultId;
    } catch (error) {
      if (error instanceof Failure && error.code === 'NOT_FOUND') return null;
      throw error;
    }
  }

  async function token(call: DialectCall, of: TokenCall, caller: Caller): Promise<DialectAnswer> {
    const facts = { id: caller.id, name: caller.name, expiresAt: caller.until, maxUses: null };
    if (of === 'lookup-self' && isRead(call.method)) return ok(lookupForm(call.token!, facts, now()));
    if (isRead(call.method)) throw notFound();
    if (of === 'renew-self')
      return { status: 200, auth: JSON.stringify(authForm(call.token!, facts, now())) };
    if (of === 'revoke-self') {
      await domain.accounts.loginKeys.revokeItself(call.token!, call.origin);
      return { status: 204 };
    }
    throw new Failure('FORBIDDEN', {
      message: 'an API key can’t create child tokens: set skip_child_token, or use an access key',
    });
  }

  return async (call, asked, caller) => {
    switch (asked.of) {
      case 'mount':
        return mount(caller, asked.path);
      case 'token':
        return token(call, asked.call, caller);
      case 'store': {
        const name = asked.path.normalize('NFC');
        const place = { vaultId: await vaultOf(caller, asked.mount), name };
        return isRead(call.method) ? read(caller, asked, place, call.url) : write(caller, asked, place, call);
      }
      case 'transit':
        return transit(caller, asked, call);
      case 'lease':
        throw new Failure('FORBIDDEN', {
          message: 'short-lived credentials belong to an access key: use one of the vault',
        });
      case 'nothing':
        throw asked.failure;
      default:
        throw notFound();
    }
  };
}

function ok(data: object): DialectAnswer {
  return { status: 200, data: JSON.stringify(data) };
}
