/**
 * The formats of Vault's answers: the envelope of a success, the few answers without one, and errors. The contents come
 * from the domain; nothing is decided here.
 */

import { Failure, type FailureCode, invalid, sentenceOf, statusOf } from '../../contract/errors.ts';
import { timeOf } from '../../contract/id.ts';
import { deepestWalked, isWalkable } from '../../contract/json-depth.ts';
import type { ProposalNotice } from '../../contract/proposals.ts';
import { iso } from '../../contract/text.ts';
import type { DialectAnswer, DialectLease } from './calls.ts';

/** Without a charset: some clients only read the text of an error if the type is exactly this. */
export const contentType = 'application/json';

const opening = '{"request_id":"';
const noId = '00000000-0000-0000-0000-000000000000';
const noLease = '"lease_id":"","renewable":false,"lease_duration":0';

/** `data`, `auth` and `warnings` are already JSON. `identified` fills in the id of the request. */
export function envelope(
  data: string,
  auth = 'null',
  warnings = 'null',
  mountType?: string,
  lease = noLease,
): Buffer {
  const mount = mountType === undefined ? '' : `,"mount_type":"${mountType}"`;
  return Buffer.from(
    `${opening}${noId}",${lease},"data":${data},"wrap_info":null,"warnings":${warnings},"auth":${auth}${mount}}`,
  );
}

export function envelopeOf({ data = 'null', auth, warnings, mountType, lease }: DialectAnswer): Buffer {
  return envelope(data, auth, warnings, mountType, lease === undefined ? noLease : leaseForm(lease));
}

function leaseForm({ id, renewable, duration }: DialectLease): string {
  return `"lease_id":${JSON.stringify(id)},"renewable":${renewable},"lease_duration":${duration}`;
}

/** Names what an answer leaves out. */
export function omissionWarnings(unresolved: readonly string[] = []): string {
  if (unresolved.length === 0) return 'null';
  return JSON.stringify([`left out, because a reference can’t be resolved: ${unresolved.join(', ')}`]);
}

/** Nothing was written yet. Vault's own clients print warnings, and take 202 for success. */
export function proposalForm(proposal: ProposalNotice): Buffer {
  const warning = `nothing was written yet: this vault demands review, and someone else has to confirm it at ${proposal.url}`;
  return envelope(JSON.stringify({ proposal }), 'null', JSON.stringify([warning]));
}

/** Returns a copy, because the original stays in the cache for other requests. */
export function identified(body: Buffer, requestId: string): Buffer {
  const own = Buffer.from(body);
  own.write(requestId, opening.length, 'latin1');
  return own;
}

/** Statuses that differ in Vault. Its clients take a 401 for an answer that does not come from Vault. */
const ownStatuses: Partial<Readonly<Record<FailureCode, number>>> = {
  UNAUTHORIZED: 403,
  SECOND_FACTOR_REQUIRED: 403,
  NOT_ACTIVE: 404,
  EXPIRED: 404,
};

/** A Vault operation that is not supported here. */
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

/** A 404 has no text, unless the failure says how to correct the request. */
export function errorsOf(failure: Failure): { readonly errors: readonly string[] } {
  const hasOwnWords = failure.message !== new Failure(failure.code).message;
  if (hasOwnWords) return { errors: [failure.message] };
  if (statusFor(failure) === 404) return { errors: [] };
  return { errors: [ownTexts[failure.code] ?? sentenceOf(failure)] };
}

interface SecretValue {
  readonly value: string;
  readonly content_type: string;
}

interface SecretVersion {
  readonly version: number;
  /** When this version was created. */
  readonly version_created_at: string;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

/** The tags, or null if there are none. */
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

/** The sorted entries directly below a folder; subfolders end with a slash. An empty result is NOT_FOUND. */
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
 * Returns a secret as a JSON map: a secret of a JSON type that is an object, digit for digit as it was stored, and any
 * other secret as an object with the single member `value`.
 */
export function mapOf({ value, content_type }: SecretValue): string {
  return isJsonType(content_type) && isObject(value) ? value.trim() : JSON.stringify({ value });
}

/** Like `mapOf`, but refuses a map that is nested too deep to be walked recursively. */
export function walkableMapOf(secret: SecretValue): string {
  const map = mapOf(secret);
  if (isWalkable(map)) return map;
  throw invalid(
    '',
    `the secret is nested deeper than ${deepestWalked} levels: read or replace it as a whole`,
  );
}

/** A secret with its value, as JSON. */
export function dataForm(secret: SecretValue & SecretVersion): string {
  return `{"data":${mapOf(secret)},"metadata":${JSON.stringify(versionMetadata(secret))}}`;
}

export function subkeysForm(secret: SecretValue & SecretVersion, depth: number) {
  const subkeys = subkeysOf(JSON.parse(walkableMapOf(secret)), depth);
  return { metadata: versionMetadata(secret), subkeys };
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

/** The members of a map without their values, down to `depth` levels; 0 for all levels. */
export function subkeysOf(value: unknown, depth: number, level = 1): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
  if (depth !== 0 && level > depth) return null;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, subkeysOf(inner, depth, level + 1)]),
  );
}

export const configForm = { cas_required: false, delete_version_after: '0s', max_versions: 0 };

/** What clients look up first: this mount is a key/value store, version 2. */
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

/** Vault's own message without the path, because errors never repeat input. */
export function noMount(): Failure {
  const message =
    "preflight capability check returned 403, please ensure client's policies grant access to the path";
  return new Failure('FORBIDDEN', { message });
}

export function notFound(): Failure {
  return new Failure('NOT_FOUND');
}

/** The refusal of a write with an access key, which can only read. */
export function readOnlyKey(): Failure {
  return new Failure('FORBIDDEN');
}

/** What a client learns about its own credential. */
interface TokenFacts {
  readonly id: string;
  readonly name: string;
  readonly expiresAt: number | null;
  readonly maxUses: number | null;
  /** Whether another token created it. */
  readonly isChild?: boolean;
}

function secondsLeft(expiresAt: number | null, now: number): number {
  return expiresAt === null ? 0 : Math.max(0, Math.floor((expiresAt - now) / 1000));
}

/** `token` is the one that was sent: clients store the `id` of the answer as their token. */
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

/** The answer to a login, a new child token and a renewal, which returns the token that was sent. */
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
