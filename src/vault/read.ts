/**
 * The vault read: the one way to what a vault holds, for the vault endpoint and the tools alike. It says who
 * is asking, counts the key's own limits, reads, and writes the request down; only when that entry is durable
 * does it hand anything out. Refusals are written down like answers. Where the log can't be written, there
 * is no answer at all.
 */
import type { Reader, Sender } from '../access/caller.ts';
import { Failure, statusOf } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { entryIdOf } from '../logs/chain.ts';
import { isSuccess, logText, type RequestEntry } from '../logs/entries.ts';
import type { Ledger } from '../logs/ledger.ts';
import { type Answers, requestedText, type Selection } from './answers.ts';
import type { Authenticator } from './authenticate.ts';
import { type Detail, type Details, detailKey, requestedDetail } from './details.ts';
import { keyLimitsWith } from './key-limits.ts';
import type { Parts } from './parts.ts';
import { type KeptAnswer, type ReadyAnswer, ReadyAnswers } from './ready.ts';

export interface VaultRequest {
  readonly token: string | null;
  /** The vault that is asked for; null where the access key alone says which. */
  readonly vaultId: string | null;
  readonly sender: Sender;
  /** Null where the request goes by the id of its own log entry. */
  readonly requestId: string | null;
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

interface Written {
  readonly receipt: string;
  readonly requestId: string;
}

export interface Answered extends Written {
  readonly status: 200;
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
}

/** What may be handed out: its entry is in the log. */
export type Outcome =
  | Answered
  | ({ readonly status: 304; readonly etag: string } & Written)
  | ({ readonly status: number; readonly failure: Failure } & Written);

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
  requestId: string | null;
  credentialId: string | null;
  requested: string;
  organizationId: string | null;
  vaultId: string | null;
}

/** What is kept ready stays sealed until its entry is in the log. */
type Served = { kept: KeptAnswer } | { answer: ReadyAnswer } | { etag: string } | { failure: Failure };

export function vaultReadsWith(parts: VaultReadParts): VaultReads {
  const { store, ledger, authenticate, answers, details, now, newId } = parts;
  const ready = new ReadyAnswers(store);
  const limits = keyLimitsWith(parts);

  async function serve(asked: VaultRequest, progress: Progress): Promise<Served> {
    if (asked.fault !== undefined) throw asked.fault;
    if (asked.publicToken !== undefined) return servePublic(asked, asked.publicToken, progress);
    const { token, vaultId, sender, connection } = asked;
    const reader = await (vaultId === null
      ? authenticate.accessKeyAnywhere(token, sender)
      : authenticate.accessKey(token, vaultId, sender));
    if (connection !== undefined) authenticate.remember(connection, token, reader);
    identify(progress, reader);
    if (asked.admit !== undefined) await asked.admit(reader);
    if (reader.rateLimit !== null) await limits.countRequest(reader.id, reader.rateLimit);
    if (reader.maxUses !== null) {
      progress.requestId ??= newId(); // Two entries tell of this request: both name it.
      await limits.countUse(reader, { ...sender, requestId: progress.requestId });
    }
    return find(reader, asked, progress);
  }

  /** A token of another key is a bad token: it must not tell whether that key exists. */
  async function servePublic(
    { sender, form }: VaultRequest,
    { code, keyId }: NonNullable<VaultRequest['publicToken']>,
    progress: Progress,
  ): Promise<Served> {
    progress.requested = 'key';
    const token = await authenticate.publicToken(code, sender);
    progress.credentialId = token.id;
    progress.organizationId = token.organizationId;
    if (keyId !== null && keyId !== token.keyId) throw new Failure('UNAUTHORIZED');
    const { vaultId, ...answer } = await details.publicHalf(token.organizationId, token.keyId);
    Object.assign(progress, { vaultId, requested: answer.requested });
    return { answer: shaped(answer, form) };
  }

  /** What needs no waiting: a known connection asks for an answer that is kept ready. */
  function serveAtOnce(asked: VaultRequest, progress: Progress): Served | null {
    const { connection, token, vaultId, sender } = asked;
    if (connection === undefined || asked.fault !== undefined || asked.publicToken !== undefined) return null;
    const reader = authenticate.remembered(connection, token, vaultId, sender);
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
    const { requestId, credentialId, requested, organizationId, vaultId } = progress;
    return {
      organization_id: organizationId,
      success: isSuccess(status),
      resource_type: 'vault',
      ip_address: asked.sender.address,
      route: asked.route,
      method: asked.method,
      status,
      vault_id: vaultId,
      access_key_id: credentialId,
      requested: logText(requested),
      tool: asked.tool,
      user_agent: logText(asked.sender.userAgent),
      duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
      request_id: requestId,
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
    const written = { receipt, requestId: progress.requestId ?? entryIdOf(receipt) };
    if ('failure' in served) return { status, failure: served.failure, ...written };
    if ('etag' in served) return { status: 304, etag: served.etag, ...written };
    const body = 'kept' in served ? ready.open(served.kept) : served.answer.body;
    const { contentType, etag } = 'kept' in served ? served.kept : served.answer;
    return { status: 200, contentType, etag, body, ...written };
  }

  return {
    request(asked) {
      const started = performance.now();
      const progress = newProgress(asked);
      const served = serving(asked, progress);
      return served instanceof Promise
        ? served.then(later => logged(asked, progress, later, started))
        : logged(asked, progress, served, started);
    },
  };
}

function newProgress({ requestId }: VaultRequest): Progress {
  return { requestId, credentialId: null, requested: '', organizationId: null, vaultId: null };
}

function identify(progress: Progress, reader: Reader): void {
  progress.credentialId = reader.id;
  progress.organizationId = reader.organizationId;
  progress.vaultId = reader.vaultId;
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
