/**
 * The vault read: the one way to what a vault holds, for the vault endpoint and the tools alike. It says who
 * is asking, counts the key's own limits, reads, and writes the request down; only when that entry is durable
 * does it hand anything out. Refusals are written down like answers. Where the log can't be written, there
 * is no answer at all.
 */
import type { Origin, Reader } from '../access/caller.ts';
import { Failure, statusOf } from '../contract/errors.ts';
import { isId } from '../contract/id.ts';
import { type AuditEntry, logText, type RequestEntry } from '../logs/entries.ts';
import { ChangeRefused, type Ledger } from '../logs/ledger.ts';
import type { CredentialRow } from '../store/credentials.ts';
import { type Answers, requestedText, type Selection } from './answers.ts';
import type { Authenticator } from './authenticate.ts';
import { retryingStale, StaleChange } from './guard.ts';
import type { Parts } from './parts.ts';
import { type ReadyAnswer, ReadyAnswers } from './ready.ts';
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
  readonly selection: () => Selection;
}

/** What may be handed out: its entry is in the log. */
export type Outcome =
  | { readonly status: 200; readonly answer: ReadyAnswer; readonly reader: Reader; readonly receipt: string }
  | { readonly status: 304; readonly etag: string; readonly receipt: string }
  | { readonly status: number; readonly failure: Failure; readonly receipt: string };

export interface VaultReads {
  request(asked: VaultRequest): Promise<Outcome>;
}

export interface VaultReadParts extends Parts {
  readonly ledger: Ledger;
  readonly authenticate: Authenticator;
  readonly answers: Answers;
}

/** What is known of a request while it is served, for its entry. */
interface Progress {
  reader: Reader | null;
  requested: string;
  organizationId: string | null;
  vaultId: string | null;
}

type Served = { answer: ReadyAnswer } | { etag: string } | { failure: Failure };

const window = 60;

export function vaultReadsWith(parts: VaultReadParts): VaultReads {
  const { store, stamps, ledger, authenticate, answers, now } = parts;
  const ready = new ReadyAnswers(store);
  const turns = new Turns();

  async function serve(asked: VaultRequest, progress: Progress): Promise<Served> {
    const { token, vaultId, origin, connection } = asked;
    const reader = await (vaultId === null
      ? authenticate.accessKeyAnywhere(token, origin)
      : authenticate.accessKey(token, vaultId, origin));
    if (connection !== undefined) authenticate.remember(connection, token, reader);
    identify(progress, reader);
    if (reader.rateLimit !== null) await countRequest(reader.id, reader.rateLimit);
    if (reader.maxUses !== null) await countUse(reader, origin);
    return find(reader, asked, progress);
  }

  /** What needs no waiting: a known connection asks for an answer that is kept ready. */
  function serveAtOnce(asked: VaultRequest, progress: Progress): Served | null {
    const { connection, token, vaultId, origin } = asked;
    if (connection === undefined) return null;
    const reader = authenticate.remembered(connection, token, vaultId, origin);
    if (reader === null) return null;
    identify(progress, reader);
    return findReady(reader, asked, progress);
  }

  async function find(reader: Reader, asked: VaultRequest, progress: Progress): Promise<Served> {
    const served = findReady(reader, asked, progress);
    if (served !== null) return served;
    const selection = asked.selection();
    const key = selectionKey(selection) + reader.view;
    const answer = await ready.load(reader.vaultId, key, () => answers.make(reader, selection));
    progress.requested = answer.requested;
    return matches(asked.ifNoneMatch, answer) ? { etag: answer.etag } : { answer };
  }

  function findReady(reader: Reader, asked: VaultRequest, progress: Progress): Served | null {
    const selection = asked.selection();
    progress.requested = requestedText(selection);
    const kept = ready.peek(reader.vaultId, selectionKey(selection) + reader.view, now());
    if (kept === undefined) return null;
    progress.requested = kept.requested;
    return matches(asked.ifNoneMatch, kept)
      ? { etag: kept.etag }
      : { answer: { ...kept, body: ready.open(kept) } };
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
    if (failure.code === 'UNAUTHORIZED' && progress.reader === null) await attribute(asked, progress);
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
    const { reader, requested, organizationId, vaultId } = progress;
    return {
      organization_id: organizationId,
      success: status < 400,
      resource_type: 'vault',
      ip_address: asked.origin.address,
      route: asked.route,
      method: asked.method,
      status,
      vault_id: vaultId,
      access_key_id: reader?.id ?? null,
      requested: logText(requested),
      tool: asked.tool,
      user_agent: logText(asked.origin.userAgent),
      duration_ms: Math.round((performance.now() - started) * 1000) / 1000,
      request_id: asked.origin.requestId,
    };
  }

  return {
    async request(asked) {
      const started = performance.now();
      const progress: Progress = { reader: null, requested: '', organizationId: null, vaultId: null };
      const served = await serving(asked, progress);
      const status = 'failure' in served ? statusOf[served.failure.code] : 'etag' in served ? 304 : 200;
      const receipt = await ledger.record(entryOf(asked, progress, status, started));
      if ('failure' in served) return { status, failure: served.failure, receipt };
      if ('etag' in served) return { status: 304, etag: served.etag, receipt };
      return { status: 200, answer: served.answer, reader: progress.reader!, receipt };
    },
  };
}

function identify(progress: Progress, reader: Reader): void {
  progress.reader = reader;
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
