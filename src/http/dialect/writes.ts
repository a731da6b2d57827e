/**
 * Writes in Vault's dialect, for API keys with the permission. A map becomes a JSON secret; a map whose only member is a
 * text `value` becomes that text. A delete removes the secret with all its versions and can be undone while it is in the
 * trash. Single versions can't be deleted or destroyed.
 */
import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { check } from '../../contract/check.ts';
import { type Failure, invalid } from '../../contract/errors.ts';
import { secretCreate } from '../../contract/resources.ts';
import { tags } from '../../contract/text.ts';
import type { Domain } from '../../domain/domain.ts';
import type { EarlierContent, SecretContent, SecretPlace } from '../../domain/resources/named-secrets.ts';
import { allSecrets } from './access-key-reads.ts';
import { type DialectAnswer, type DialectCall, exactJson, isMap } from './calls.ts';
import { isJsonType, notFound, Unsupported, versionMetadata, walkableMapOf } from './forms.ts';
import type { StoreCall, StoreVerb } from './target.ts';

const map = z.record(z.string(), z.unknown(), { error: 'must be an object' });
const cas = z.int({ error: 'must be a whole number' }).min(0).max(1_000_000_000);
const written = z.looseObject({
  data: map,
  options: z.looseObject({ cas: cas.nullish() }).nullish(),
});
const versions = z.looseObject({
  versions: z
    .array(z.union([z.int(), z.string().regex(/^\d{1,9}$/)]).transform(Number), { error: 'must be an array' })
    .min(1)
    .max(1_000),
});
/** Vault settings that are not supported here may be sent with their default values. */
const described = z.looseObject({
  custom_metadata: tags.nullish(),
  max_versions: z.literal(0, { error: 'must be 0: all versions are kept' }).nullish(),
  cas_required: z.literal(false, { error: 'must be false' }).nullish(),
  delete_version_after: z.enum(['', '0s', '0'], { error: 'must be 0s: versions are kept' }).nullish(),
});

type Write = (
  caller: Caller,
  asked: StoreCall,
  place: SecretPlace,
  call: DialectCall,
) => Promise<DialectAnswer>;

export function writesWith({ namedSecrets }: Pick<Domain, 'namedSecrets'>): Write {
  async function put(caller: Caller, place: SecretPlace, body: unknown): Promise<DialectAnswer> {
    const { data, options } = check(written, body);
    const next = (before: EarlierContent | null) => checked(place, contentOf(data, before));
    return answered(await namedSecrets.write(caller, place, next, options?.cas ?? undefined));
  }

  /** The result depends on the current value, so a patch also requires the permission to reveal it. */
  async function patch(caller: Caller, place: SecretPlace, body: unknown): Promise<DialectAnswer> {
    await namedSecrets.mayReveal(caller, place);
    const { data, options } = check(written, body);
    const next = (before: EarlierContent | null) => {
      if (before === null) throw notFound();
      const { content_type } = before;
      const old: unknown = exactJson(walkableMapOf({ content_type, value: before.value() }));
      return checked(place, contentOf(merged(old, data) as Members, before));
    };
    return answered(await namedSecrets.write(caller, place, next, options?.cas ?? undefined));
  }

  const isAmong = (body: unknown) => {
    const named = check(versions, body).versions;
    return (version: number) => named.includes(version);
  };

  async function change(
    verb: StoreVerb,
    caller: Caller,
    place: SecretPlace,
    call: DialectCall,
  ): Promise<void> {
    const { method, body } = call;
    switch (`${method === 'POST' ? 'PUT' : method} ${verb}`) {
      case 'DELETE data':
        return namedSecrets.remove(caller, place, false);
      case 'DELETE metadata':
        return namedSecrets.remove(caller, place, true);
      case 'PUT metadata':
        return describe(caller, place, body);
      case 'PUT delete':
        return namedSecrets.remove(caller, place, false, isAmong(body));
      case 'PUT undelete':
        return namedSecrets.restore(caller, place, isAmong(body));
      case 'PUT destroy':
        throw new Unsupported(
          'a single version can’t be destroyed: DELETE {mount}/metadata/{path} destroys them all',
        );
      default:
        throw new Unsupported('unsupported operation');
    }
  }

  async function describe(caller: Caller, place: SecretPlace, body: unknown): Promise<void> {
    const { custom_metadata } = check(described, body);
    if (custom_metadata !== undefined) await namedSecrets.tag(caller, place, custom_metadata ?? {});
  }

  return async (caller, asked, place, call) => {
    const { verb, path } = asked;
    if (path === '' || path === allSecrets) throw new Unsupported('unsupported operation');
    if (verb === 'data' && (call.method === 'POST' || call.method === 'PUT'))
      return put(caller, place, call.body);
    if (verb === 'data' && call.method === 'PATCH') return patch(caller, place, call.body);
    await change(verb, caller, place, call);
    return { status: 204 };
  };
}

type Members = z.output<typeof map>;

function answered(version: { readonly version: number; readonly version_created_at: string }): DialectAnswer {
  return { status: 200, data: JSON.stringify(versionMetadata(version)) };
}

/** A text keeps its content type. */
function contentOf(data: Members, before: EarlierContent | null): SecretContent {
  const { value } = data;
  const isText = typeof value === 'string' && Object.keys(data).length === 1;
  if (!isText) return { value: JSON.stringify(data), content_type: 'application/json' };
  const isKept = before !== null && !isJsonType(before.content_type);
  return { value, content_type: isKept ? before.content_type : 'text/plain' };
}

/** Checks the content with the schema of the general API. */
function checked({ vaultId, name }: SecretPlace, content: SecretContent): SecretContent {
  try {
    check(secretCreate, { vault_id: vaultId, name, ...content });
  } catch (error) {
    const { field, reason } = error as Failure; // Any other error has no field.
    throw field === 'name' ? invalid('path', reason) : error;
  }
  return content;
}

/** RFC 7396: null removes a member. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isMap(patch)) return patch;
  const result = new Map(Object.entries(isMap(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, merged(result.get(name), value));
  }
  return Object.fromEntries(result);
}
