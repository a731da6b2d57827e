/**
 * The vault read: the one way to what a vault holds, for the vault endpoint and the tools alike. It says who
 * is asking, counts the key's own limits, reads, and writes the request down; only when that entry is durable
 * does it hand anything out. Refusals are written down like answers. Where the log can't be written, there
 * is no answer at all.
 */
import type { Origin, Reader } from '../access/caller.ts';
import { Failure, statusOf } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { type AuditEntry, isSuccess, logText, type RequestEntry } from '../logs/entries.ts';
import { ChangeRefused, type Ledger } from '../logs/ledger.ts';
import type { CredentialRow } from '../store/credentials.ts';
import { type Answers, requestedText, type Selection } from './answers.ts';
import type { Authenticator } from './authenticate.ts';
import { type Detail, type Details, detailKey, requestedDetail } from './details.ts';
import { retryingStale, StaleChange } from './guard.ts';
import type { Parts } from './parts.ts';
import { type KeptAnswer, OpenBody, type ReadyAnswer, ReadyAnswers } from './ready.ts';
import { Turns } from './turns.ts';

export interface VaultRequest {
  readonly token: string | null;
  /** The vault that is asked for; null where the access key alone says which. */
  readonly vaultId: string | null;
  readonly origin: Origin;
  /** What stands for the client's connection, where there is one: its credential is proven once. */
  readonly connection?: object;
  readonly route: string;
  readonly method: string;
  readonly tool: string | null;
  readonly ifNoneMatch?: string | undefined;
  /** What is asked for. It is checked after the credential, so a stranger learns nothing from it. */
  readonly selection: () => Selection | Detail;
  /** The shape in which the answer is kept and handed out, where it is not the domain's own. */
  readonly form?: Form | undefined;
  /** Asks for the public half of a key with a public token, in place of an access key. */
  readonly publicToken?: { readonly code: string; readonly keyId: string | null } | undefined;
  /** A surface's own condition on who may ask here. Throws where it isn't met. */
  readonly admit?: ((reader: Reader) => void | Promise<void>) | undefined;
  /** The id of the key that `admit` is known to let through. */
  readonly admitted?: string | null | undefined;
  /** What was wrong before it could be told who is asking. It is written down, and nothing is read. */
  readonly fault?: Failure | undefined;
}

export interface Form {
  readonly name: string;
  readonly shape: (body: Buffer) => Buffer;
}

export interface Answered {
  readonly status: 200;
  readonly contentType: string;
  readonly etag: string;
  readonly body: OpenBody;
  readonly receipt: string;
}

/** What may be handed out: its entry is in the log. */
export type Outcome =
  | Answered
  | { readonly status: 304; readonly etag: string; readonly receipt: string }
  | { readonly status: number; readonly failure: Failure; readonly receipt: string };

export interface VaultReads {
  request(asked: VaultRequest): Promise<Outcome>;
}

export interface VaultReadParts extends Parts {
  readonly ledger: Ledger;
  readonly authenticate: Authenticator;
  readonly answers: Answers;
  readonly details: Details;
}

/** What is known of a request while it is served, for its entry. */
interface Progress {
  credentialId: string | null;
  requested: string;
  organizationId: string | null;
  vaultId: string | null;
}

/** What is kept ready stays sealed until its entry is in the log. */
type Served = { kept: KeptAnswer } | { answer: ReadyAnswer } | { etag: string } | { failure: Failure };

const window = 60;

export function vaultReadsWith(parts: VaultReadParts): VaultReads {
  const { store, stamps, ledger, authenticate, answers, details, now } = parts;
  const ready = new ReadyAnswers(store);
  const turns = new Turns();

  async function serve(asked: VaultRequest, progress: Progress): Promise<Served> {
    if (asked.fault !== undefined) throw asked.fault;
    if (asked.publicToken !== undefined) return servePublic(asked, asked.publicToken, progress);
    const { token, vaultId, origin, connection } = asked;
    const reader = await (vaultId === null
      ? authenticate.accessKeyAnywhere(token, origin)
      : authenticate.accessKey(token, vaultId, origin));
    if (connection !== undefined) authenticate.remember(connection, token, reader);
    identify(progress, reader);
    if (asked.admit !== undefined) await asked.admit(reader);
    if (reader.rateLimit !== null) await countRequest(reader.id, reader.rateLimit);
    if (reader.maxUses !== null) await countUse(reader, origin);
    return find(reader, asked, progress);
  }

  /** A token of another key is a bad token: it must not tell whether that key exists. */
  async function servePublic(
    { origin, form }: VaultRequest,
    { code, keyId }: NonNullable<VaultRequest['publicToken']>,
    progress: Progress,
  ): Promise<Served> {
    progress.requested = 'key';
    const token = await authenticate.publicToken(code, origin);
    progress.credentialId = token.id;
    progress.organizationId = token.organizationId;
    if (keyId !== null && keyId !== token.keyId) throw new Failure('UNAUTHORIZED');
    const { vaultId, ...answer } = await details.publicHalf(token.organizationId, token.keyId);
    Object.assign(progress, { vaultId, requested: answer.requested });
    return { answer: shaped(answer, form) };
  }

  /** What needs no waiting: a known connection asks for an answer that is kept ready. */
  function serveAtOnce(asked: VaultRequest, progress: Progress): Served | null {
    const { connection, token, vaultId, origin } = asked;
    if (connection === undefined || asked.fault !== undefined || asked.publicToken !== undefined) return null;
    const reader = authenticate.remembered(connection, token, vaultId, origin);
    if (reader === null || (asked.admit !== undefined && asked.admitted !== reader.id)) return null;
    identify(progress, reader);
    return findReady(reader, asked, progress);
  }

  async function find(reader: Reader, asked: VaultRequest, progress: Progress): Promise<Served> {
    const served = findReady(reader, asked, progress);
    if (served !== null) return served;
    const { form } = asked;
    const selection = asked.selection();
    const made = async () => shaped(await make(reader, selection), form);
    if (isOwn(selection)) return { answer: await made() };
    const answer = await ready.load(reader.vaultId, keyOf(reader, selection, form), made);
    progress.requested = answer.requested;
    return matches(asked.ifNoneMatch, answer) ? { etag: answer.etag } : { answer };
  }

  function findReady(reader: Reader, asked: VaultRequest, progress: Progress): Served | null {
    const selection = asked.selection();
    const kept = isOwn(selection)
      ? undefined
      : ready.peek(reader.vaultId, keyOf(reader, selection, asked.form), now());
    if (kept === undefined) {
      progress.requested = 'what' in selection ? requestedDetail(selection) : requestedText(selection);
      return null;
    }
    progress.requested = kept.requested;
    return matches(asked.ifNoneMatch, kept) ? { etag: kept.etag } : { kept };
  }

  function make(reader: Reader, selection: Selection | Detail): Promise<ReadyAnswer> {
    return 'what' in selection ? details.make(reader, selection) : answers.make(reader, selection);
  }

  async function countRequest(id: string, limit: number): Promise<void> {
    const seconds = Math.floor(now() / 1000);
    const start = seconds - (seconds % window);
    const taken = await store.limits.take(id, start, 1);
    if (taken > limit) throw new Failure('RATE_LIMITED', { retryAfter: start + window - seconds });
  }

  /** A key that is used up is a bad key. A use is a revision of its record, so none can be taken back. */
  function countUse(reader: Reader, origin: Origin): Promise<void> {
    const count = async () => {
      const found = await store.credentials.byId(reader.id);
      if (found === undefined) throw new Failure('UNAUTHORIZED');
      const before = stamps.credential.believe(found);
      if (before.max_uses !== null && before.uses >= before.max_uses) throw new Failure('UNAUTHORIZED');
      const row = stamps.credential.stamp({
        ...before,
        uses: before.uses + 1,
        revision: before.revision + 1,
      });
      const change = { statements: [store.credentials.update(row)], touches: [row.id] };
      await ledger.commit([useEntry(reader, origin, row)], change).catch(error => {
        throw error instanceof ChangeRefused ? new StaleChange() : error;
      });
    };
    return turns.take(reader.id, () => retryingStale(count));
  }

  /** A refused request for a vault that exists belongs into the log of those whose vault it is. */
  async function attribute({ vaultId }: VaultRequest, progress: Progress): Promise<void> {
    if (vaultId === null || !isId(vaultId)) return;
    const vault = await store.resources.vault(vaultId);
    Object.assign(progress, { organizationId: vault?.organization_id ?? null, vaultId: vault?.id ?? null });
  }

  async function refusal(asked: VaultRequest, progress: Progress, error: unknown): Promise<Served> {
    const failure = error instanceof Failure ? error : new Failure('INTERNAL_ERROR', { cause: error });
    const isStranger = progress.credentialId === null;
    if (isStranger && (failure.code === 'UNAUTHORIZED' || asked.fault !== undefined)) {
      await attribute(asked, progress);
    }
    return { failure };
  }

  function serving(asked: VaultRequest, progress: Progress): Served | Promise<Served> {
    try {
      const served = serveAtOnce(asked, progress);
      if (served !== null) return served;
    } catch (error) {
      return refusal(asked, progress, error);
    }
    return serve(asked, progress).catch(error => refusal(asked, progress, error));
  }

  function entryOf(asked: VaultRequest, progress: Progress, status: number, started: number): RequestEntry {
    const { credentialId, requested, organizationId, vaultId } = progress;
    return {
      organization_id: organizationId,
      success: isSuccess(status),
      resource_type: 'vault',
      ip_address: asked.origin.address,
      route: asked.route,
      method: asked.method,
      status,
      vault_id: vaultId,
      access_key_id: credentialId,
      requested: logText(requested),
      tool: asked.tool,
      user_agent: logText(asked.origin.userAgent),
      duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
      request_id: asked.origin.requestId,
    };
  }

  /** Nothing is opened, and nothing is handed out, before the entry is durable. */
  async function logged(
    asked: VaultRequest,
    progress: Progress,
    served: Served,
    started: number,
  ): Promise<Outcome> {
    const status = 'failure' in served ? statusOf[served.failure.code] : 'etag' in served ? 304 : 200;
    const receipt = await ledger.record(entryOf(asked, progress, status, started));
    if ('failure' in served) return { status, failure: served.failure, receipt };
    if ('etag' in served) return { status: 304, etag: served.etag, receipt };
    const body = 'kept' in served ? ready.open(served.kept) : new OpenBody(served.answer.body);
    const { contentType, etag } = 'kept' in served ? served.kept : served.answer;
    return { status: 200, contentType, etag, body, receipt };
  }

  return {
    request(asked) {
      const started = performance.now();
      const progress: Progress = { credentialId: null, requested: '', organizationId: null, vaultId: null };
      const served = serving(asked, progress);
      return served instanceof Promise
        ? served.then(later => logged(asked, progress, later, started))
        : logged(asked, progress, served, started);
    },
  };
}

function identify(progress: Progress, reader: Reader): void {
  progress.credentialId = reader.id;
  progress.organizationId = reader.organizationId;
  progress.vaultId = reader.vaultId;
}

function useEntry(reader: Reader, origin: Origin, row: CredentialRow): AuditEntry {
  const { id, kind } = reader;
  const name = logText(reader.name);
  return {
    organization_id: reader.organizationId,
    actor: { kind, id, name },
    action: 'access-key.used',
    outcome: 'allowed',
    subject: { type: kind, id, name },
    revision: row.revision,
    vault_id: reader.vaultId,
    ip_address: origin.address,
    user_agent: logText(origin.userAgent),
    request_id: origin.requestId,
    details: { uses: row.uses },
  };
}

/** What a key may do is the key's own: it is made anew each time, and kept for nobody. */
function isOwn(selection: Selection | Detail): boolean {
  return 'what' in selection && selection.what === 'vault';
}

/** What was sent stands last, behind a line break that no view holds: no name can pass for another's view. */
function keyOf({ view }: Reader, selection: Selection | Detail, form: Form | undefined): string {
  if (!('what' in selection)) return selectionKey(selection) + view;
  return `${view}\n${form?.name ?? ''} ${detailKey(selection)}`;
}

function shaped(answer: ReadyAnswer, form: Form | undefined): ReadyAnswer {
  return form === undefined ? answer : { ...answer, body: form.shape(answer.body) };
}

function selectionKey({ resource, namesOnly, keys, certificates }: Selection): string {
  if (resource !== null) return `r${resource}`;
  return `${namesOnly ? 'n' : 's'}${keys ? 'k' : ''}${certificates ? 'c' : ''}`;
}

/** Only JSON carries a tag; PEM is sent anew each time. */
function matches(
  ifNoneMatch: string | undefined,
  { etag, contentType }: Pick<ReadyAnswer, 'etag' | 'contentType'>,
): boolean {
  if (ifNoneMatch === undefined || !contentType.startsWith('application/json')) return false;
  return ifNoneMatch.split(',').some(tag => tag.trim().replace(/^W\//, '') === etag);
}
