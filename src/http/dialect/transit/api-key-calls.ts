/** The transit engine for API keys: the general API's keys and their operations, addressed by name. */
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../../access/caller.ts';
import { vaultsAllowing } from '../../../access/policy.ts';
import { Failure } from '../../../contract/errors.ts';
import { isId } from '../../../contract/id.ts';
import type { Domain } from '../../../domain/domain.ts';
import type { NamedPlace } from '../../../domain/resources/named-lookup.ts';
import { isRead } from '../../listener/request.ts';
import { type DialectAnswer, type DialectCall, objectIn } from '../calls.ts';
import { notFound, Unsupported } from '../forms.ts';
import { keyForm, minVersionIn, newKeyIn } from './key-forms.ts';
import { keylessAnswer } from './keyless.ts';
import type { KeyCall, OperationCall, TransitCall } from './target.ts';
import { workIn } from './work.ts';

export function transitCallsWith({ namedKeys, namedSecrets }: Pick<Domain, 'namedKeys' | 'namedSecrets'>) {
  /** Without a name, the only vault whose keys the caller sees. */
  async function vaultOf(caller: Caller, mount: string): Promise<string> {
    if (mount !== '') return isId(mount) ? mount : namedSecrets.vaultNamed(caller, mount);
    const given = vaultsAllowing(caller, 'keys:read');
    if (given?.length === 1) return given[0]!;
    throw new Failure('NOT_FOUND', { message: 'this API key has several vaults: use {vault}/transit' });
  }

  async function work(caller: Caller, call: OperationCall, body: unknown): Promise<DialectAnswer> {
    const { asked, answer, refusal } = workIn(call, body, randomBytes);
    try {
      const place = await placeOf(caller, call);
      return answer(await namedKeys.operate(caller, place, asked.operation, asked.call));
    } catch (error) {
      throw error instanceof Failure ? refusal(error) : error;
    }
  }

  async function placeOf(caller: Caller, { mount, key }: OperationCall | KeyCall): Promise<NamedPlace> {
    return { vaultId: await vaultOf(caller, mount), name: key.normalize('NFC') };
  }

  async function change(caller: Caller, call: KeyCall, place: NamedPlace, { method, body }: DialectCall) {
    const { action } = call;
    if (method === 'DELETE' && action === '') {
      await namedKeys.remove(caller, place);
      return { status: 204 } as const;
    }
    if (method !== 'POST' && method !== 'PUT') throw new Unsupported('unsupported operation');
    const fields = objectIn(body);
    let isNew = true;
    if (action === '') isNew = await namedKeys.create(caller, place, newKeyIn(fields));
    else if (action === 'rotate') await namedKeys.rotate(caller, place);
    else {
      const wanted = minVersionIn(fields);
      if (wanted !== undefined) await namedKeys.setMinVersion(caller, place, wanted);
    }
    const warnings = isNew ? undefined : JSON.stringify(['a key of this name already existed']);
    return { ...(await shown(caller, place)), warnings };
  }

  async function read(caller: Caller, { key, action }: KeyCall, place: NamedPlace): Promise<DialectAnswer> {
    if (action !== '') throw new Unsupported('unsupported operation');
    if (key !== '') return shown(caller, place);
    const keys = await namedKeys.names(caller, place.vaultId);
    if (keys.length === 0) throw notFound();
    return answerOf({ keys: keys.sort() });
  }

  async function shown(caller: Caller, place: NamedPlace): Promise<DialectAnswer> {
    return answerOf(keyForm(await namedKeys.facts(caller, place)));
  }

  return async (caller: Caller, call: TransitCall, request: DialectCall): Promise<DialectAnswer> => {
    if (call.verb === 'keys') {
      const place = await placeOf(caller, call);
      return isRead(request.method) ? read(caller, call, place) : change(caller, call, place, request);
    }
    if (request.method !== 'POST' && request.method !== 'PUT') throw new Unsupported('unsupported operation');
    return 'details' in call
      ? keylessAnswer(call, request.body, randomBytes)
      : work(caller, call, request.body);
  };
}

function answerOf(data: object): DialectAnswer {
  return { status: 200, data: JSON.stringify(data), mountType: 'transit' };
}
