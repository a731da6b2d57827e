/**
 * The forms of Vault's answers: the envelope of every success, the few that have none, and errors. What they contain
 * comes from the domain; nothing here decides anything.
 */
import { Failure, type FailureCode, invalid, sentenceOf, statusOf } from '../../contract/errors.ts';
import { timeOf } from '../../contract/id.ts';
import { deepestWalked, isWalkable } from '../../contract/json-depth.ts';
import { iso } from '../../contract/text.ts';

/** Exactly so, without a charset: some clients read an error's text only then. */
export const contentType = 'application/json';

const opening = '{"request_id":"';
const noId = '00000000-0000-0000-0000-000000000000';

/** `data` and `auth` are JSON already. The request's id is put in its place once it is known. */
export function envelope(data: string, auth = 'null'): Buffer {
  const lease = '"lease_id":"","renewable":false,"lease_duration":0';
  return Buffer.from(
    `${opening}${noId}",${lease},"data":${data},"wrap_info":null,"warnings":null,"auth":${auth}}`,
  );
}

/** A copy: the same answer is kept for others. */
export function identified(body: Buffer, requestId: string): Buffer {
  const own = Buffer.from(body);
  own.write(requestId, opening.length, 'latin1');
  return own;
}

/** Where Vault has other statuses than we have. Its clients take 401 for something that is no answer of Vault's. */
const ownStatuses: Partial<Readonly<Record<FailureCode, number>>> = {
  UNAUTHORIZED: 403,
  SECOND_FACTOR_REQUIRED: 403,
  NOT_ACTIVE: 404,
  EXPIRED: 404,
};

/** A call of Vault's that there is none of here. */
export class Unsupported extends Failure {
  constructor(message: string) {
    super('INVALID_REQUEST', { message });
  }
}

export function statusFor(failure: Failure): number {
  if (failure instanceof Unsupported) return 405;
  return ownStatuses[failure.code] ?? statusOf[failure.code];
}

const ownTexts: Partial<Readonly<Record<FailureCode, string>>> = {
  UNAUTHORIZED: 'permission denied',
  FORBIDDEN: 'permission denied',
  RATE_LIMITED: 'rate limit quota exceeded',
};

/** Where nothing was found there is nothing to say, unless the request could be put right. */
export function errorsOf(failure: Failure): { readonly errors: readonly string[] } {
  const hasOwnWords = failure.message !== new Failure(failure.code).message;
  if (hasOwnWords) return { errors: [failure.message] };
  if (statusFor(failure) === 404) return { errors: [] };
  return { errors: [ownTexts[failure.code] ?? sentenceOf(failure)] };
}

export interface SecretVersion {
  readonly version: number;
  /** When this version was created. */
  readonly version_created_at: string;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** Tags, where there are some. */
function customMetadata(tags: SecretVersion['tags']) {
  return tags === undefined || Object.keys(tags).length === 0 ? null : tags;
}

export function versionMetadata({ version, version_created_at, tags }: SecretVersion, deletedAt = '') {
  return {
    created_time: version_created_at,
    custom_metadata: customMetadata(tags),
    deletion_time: deletedAt,
    destroyed: false,
    version,
  };
}

export interface SecretHistory {
  readonly created_at: string;
  readonly updated_at: string;
  readonly tags?: SecretVersion['tags'];
  readonly versions: readonly { readonly version: number; readonly created_at: string }[];
}

export function historyForm({ created_at, updated_at, tags, versions }: SecretHistory) {
  const numbers = versions.map(({ version }) => version);
  const inOrder = [...versions].sort((a, b) => a.version - b.version);
  return {
    cas_required: false,
    created_time: created_at,
    current_version: Math.max(...numbers),
    custom_metadata: customMetadata(tags),
    delete_version_after: '0s',
    max_versions: 0,
    oldest_version: Math.min(...numbers),
    updated_time: updated_at,
    versions: Object.fromEntries(
      inOrder.map(one => [
        one.version,
        { created_time: one.created_at, deletion_time: '', destroyed: false },
      ]),
    ),
  };
}

/** What is immediately below a folder, sorted; a folder ends with a slash. Nothing at all is not found. */
export function listForm(names: readonly string[], folder: string): { keys: string[] } {
  const start = folder === '' || folder.endsWith('/') ? folder : `${folder}/`;
  const keys = new Set<string>();
  for (const name of names) {
    if (!name.startsWith(start) || name.length === start.length) continue;
    const slash = name.indexOf('/', start.length);
    keys.add(name.slice(start.length, slash < 0 ? undefined : slash + 1));
  }
  if (keys.size === 0) throw new Failure('NOT_FOUND');
  return { keys: [...keys].sort() };
}

const jsonType = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i;

/**
 * A secret as a map, in JSON: one that is a JSON object as it stands, digit for digit, any other as the one member
 * `value`.
 */
export function mapOf({ value, content_type }: { value: string; content_type: string }): string {
  return isJsonType(content_type) && isObject(value) ? value.trim() : JSON.stringify({ value });
}

/** The same for whatever walks through it. */
export function walkableMapOf(secret: { value: string; content_type: string }): string {
  const map = mapOf(secret);
  if (isWalkable(map)) return map;
  throw invalid(
    '',
    `the secret is nested deeper than ${deepestWalked} levels: read or replace it as a whole`,
  );
}

export function isJsonType(contentType: string): boolean {
  return jsonType.test(contentType);
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** The members of a map without their values, down to a depth; 0 for all of it. */
export function subkeysOf(value: unknown, depth: number, level = 1): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  if (depth !== 0 && level > depth) return null;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, subkeysOf(inner, depth, level + 1)]),
  );
}

export const configForm = { cas_required: false, delete_version_after: '0s', max_versions: 0 };

/** What a client finds out first: this is a key/value store, version 2, mounted so. */
export function mountForm(vaultId: string, mount: string) {
  return {
    accessor: `kv_${vaultId.slice(0, 8)}`,
    config: { default_lease_ttl: 0, force_no_cache: false, max_lease_ttl: 0 },
    description: '',
    external_entropy_access: false,
    local: false,
    options: { version: '2' },
    path: `${mount}/`,
    plugin_version: '',
    running_plugin_version: '',
    running_sha256: '',
    seal_wrap: false,
    type: 'kv',
    uuid: vaultId,
  };
}

/** In Vault's words, but for the path: an error repeats nothing that was sent. */
export function noMount(): Failure {
  const message =
    "preflight capability check returned 403, please ensure client's policies grant access to the path";
  return new Failure('FORBIDDEN', { message });
}

export function notFound(): Failure {
  return new Failure('NOT_FOUND');
}

/** Whoever holds an access key reads. */
export function readOnlyKey(): Failure {
  return new Failure('FORBIDDEN');
}

/** A credential, as a client is told of its own. */
export interface TokenFacts {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: number | null;
  readonly maxUses: number | null;
  readonly isChild: boolean;
}

function secondsLeft(expiresAt: number | null, now: number): number {
  return expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000));
}

/** `token` is the one that was sent: clients store the `id` that they get as the token. */
export function lookupForm(
  token: string,
  { id, name, expiresAt, maxUses, isChild }: TokenFacts,
  now: number,
) {
  const created = timeOf(id);
  return {
    accessor: id,
    creation_time: Math.floor(created / 1000),
    creation_ttl: secondsLeft(expiresAt, created),
    display_name: name,
    entity_id: '',
    expire_time: expiresAt === null ? null : iso(expiresAt),
    explicit_max_ttl: 0,
    id: token,
    issue_time: iso(created),
    meta: null,
    num_uses: maxUses ?? 0,
    orphan: !isChild,
    path: 'auth/token/create',
    policies: ['default'],
    renewable: false,
    ttl: secondsLeft(expiresAt, now),
    type: 'service',
  };
}

/** What a login, a new child and a renewal answer. The token is sent only where it is new. */
export function authForm(token: string, facts: TokenFacts, now: number, metadata: object | null = null) {
  return {
    client_token: token,
    accessor: facts.id,
    policies: ['default'],
    token_policies: ['default'],
    metadata,
    lease_duration: secondsLeft(facts.expiresAt, now),
    renewable: false,
    entity_id: '',
    token_type: 'service',
    orphan: !facts.isChild,
    mfa_requirement: null,
    num_uses: facts.maxUses ?? 0,
  };
}
