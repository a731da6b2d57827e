/**
 * Requests of access keys for runs: an access key that may use secrets starts a run within what it may use itself, and
 * ends it. The run's access key reads no values, whatever its parent reads; it is refused once its parent is. An access
 * key that its holder restricted, that has a limited number of uses or that was created with another one can't start a
 * run, because its restrictions would not apply to it.
 */
import { mintToken } from '../../access/token.ts';
import { Failure } from '../../contract/errors.ts';
import type { EndedRun, RunCall, RunRequest, StartedRun } from '../../contract/runs.ts';
import { iso } from '../../contract/text.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { RunRow } from '../../store/records/runs.ts';
import { isUsable, type Restrictions } from '../credentials/credential.ts';
import { accessKeyEvent, newCredentialWith, subjectOf } from '../credentials/credential-changes.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import {
  type Deed,
  type Identified,
  recordedUsesWith,
  type UseParts,
  type UseResult,
} from './recorded-uses.ts';
import { alreadyEnded, endingOf, runEvents, runSubject, stateOf } from './run-records.ts';
import { indexOf, nameOf } from './runs.ts';

export interface RunAsked extends RequestFacts {
  /** If it could not be parsed, the failure is thrown after the credential was checked. */
  readonly asked: RunCall | Failure;
}

type Answer = StartedRun | EndedRun;

export interface RunRequests {
  readonly use: (request: RunAsked) => Promise<UseResult<Answer>>;
}

/** Living access keys that one access key created. */
const mostChildren = 100;
/** As for other access keys that an access key creates. */
const keptAfter = 24 * 3_600_000;
const mostForgotten = 200;

export function runRequestsWith(parts: UseParts) {
  const { store, stamps, guard, now, newId } = parts;
  const using = recordedUsesWith(parts);
  const newRow = newCredentialWith(parts);

  function perform(deed: Deed, asked: RunCall): Promise<Answer> {
    return asked.operation === 'start' ? start(deed, asked.call) : end(deed, asked.id);
  }

  async function parentOf({ reader }: Deed): Promise<CredentialRow> {
    const found = await store.credentials.byId(reader.id);
    const row = found && stamps.credential.believe<CredentialRow>(found);
    if (row === undefined || !isUsable(row, now())) throw new Failure('UNAUTHORIZED');
    const { parent, run } = JSON.parse(row.narrowing) as Restrictions;
    const isWhole = reader.narrowing === null && parent === undefined && run === undefined;
    if (!isWhole || row.max_uses !== null) throw notWhole();
    const living = await store.credentials.madeBy([row.id], now(), mostChildren);
    if (living.map(stamps.credential.believe).length >= mostChildren) throw tooMany();
    return row;
  }

  /** The ids of the use rules that were named. */
  async function rulesNamed(vaultId: string, named: readonly string[] | undefined): Promise<string[] | null> {
    if (named === undefined) return null;
    const found = await Promise.all(named.map(name => store.useRules.named(vaultId, name)));
    if (found.some(rules => rules.length === 0))
      throw new Failure('NOT_FOUND', { field: 'rules', reason: 'must be names or ids of use rules' });
    return [...new Set(found.flat().map(row => stamps.useRule.believe(row).id))];
  }

  /** The person and the client of an access key from OAuth. */
  async function behind({ narrowing }: CredentialRow) {
    const { grant, login } = JSON.parse(narrowing) as Restrictions;
    const found = grant === undefined ? undefined : await store.oauthGrants.byId(grant);
    const client = found && (JSON.parse(stamps.oauthGrant.believe(found).client) as { id: string }).id;
    return { member_id: login?.member_id ?? null, client: client ?? null };
  }

  async function newKey(
    parent: CredentialRow,
    id: string,
    wanted: { name: string; end: number; run: Restrictions['run'] },
  ) {
    const { may_use: _, operations: __, ...own } = JSON.parse(parent.narrowing) as Restrictions;
    const refreshed = own.grant === undefined ? {} : { parent_revision: parent.revision };
    const narrowing: Restrictions = {
      ...own,
      names_only: true,
      run: wanted.run!,
      run_parent: parent.id,
      ...refreshed,
    };
    const token = mintToken('vault', id);
    const maker = { id: parent.id, organizationId: parent.organization_id };
    // An access key issued to an identity ends with any change to it, and so does what it created.
    const identity = { id: parent.identity_id, revision: parent.identity_revision };
    const fields = {
      name: wanted.name,
      vaultId: parent.vault_id!,
      narrowing,
      expirationDate: wanted.end,
      identity,
    };
    return { row: await newRow('vault', maker, id, token, fields), token };
  }

  function start(deed: Deed, { purpose, rules, ends_in, budgets = {} }: RunRequest): Promise<StartedRun> {
    deed.requested = 'run=start';
    const { reader, origin } = deed;
    if (!reader.mayUse) throw mayNotUse();
    return retryingStale(async () => {
      const parent = await parentOf(deed);
      const end = Math.min(now() + ends_in * 1_000, parent.expiration_date ?? Number.POSITIVE_INFINITY);
      const id = newId();
      const run = { id, rules: await rulesNamed(reader.vaultId, rules) };
      const key = await newKey(parent, newId(), { name: nameOf(purpose), end, run });
      const row = stamps.run.create(now(), {
        id,
        organization_id: reader.organizationId,
        purpose,
        access_keys: JSON.stringify([{ vault_id: reader.vaultId, access_key_id: key.row.id }]),
        rules: run.rules && JSON.stringify(run.rules),
        budgets: JSON.stringify(budgets),
        uses: 0,
        writes: 0,
        bytes: 0,
        state: 'active',
        ended_by: null,
        ends_at: end,
        ...(await behind(parent)),
        created_by: reader.id,
      });
      const at = { table: 'credentials', id: parent.id, revision: parent.revision } as const;
      await guard.used({ ...reader, origin }, 'run.created', {
        subjects: [
          runSubject(row),
          {
            ...subjectOf(key.row, 'access-key'),
            verb: 'access-key.created',
            details: { parent: parent.id, run: id },
          },
        ],
        statements: [
          store.conditions.unchanged([at], 'stale'),
          store.credentials.forgetMadeBy(parent.id, now() - keptAfter, mostForgotten),
          store.credentials.insert(key.row),
          accessKeyEvent(parts, 'access_key.created', key.row),
          ...store.runs.insert(row, indexOf(id, [key])),
          ...runEvents(parts, 'run.created', row),
        ],
        touches: [id, key.row.id],
      });
      deed.requested = `run=started ${id}`;
      return { run: { id, ends_at: iso(end) }, access_key: { id: key.row.id, token: key.token } };
    });
  }

  /** By the access key that created it, and by its own. */
  function end(deed: Deed, id: string): Promise<EndedRun> {
    deed.requested = `run=end ${id}`;
    const { reader, origin } = deed;
    return retryingStale(async () => {
      const found = await store.runs.byId(reader.organizationId, id);
      const before = found && stamps.run.believe<RunRow>(found);
      const isIts = before !== undefined && (before.created_by === reader.id || reader.run?.id === id);
      if (!isIts || reader.narrowing !== null) throw new Failure('NOT_FOUND');
      if (stateOf(before, now()) !== 'active') throw alreadyEnded();
      const { row, ...change } = await endingOf(parts, before, 'ended', reader.id);
      await guard.used({ ...reader, origin }, 'run.ended', change);
      return { run: { id, state: row.state } };
    });
  }

  return {
    use: (request: Identified<RunAsked>): Promise<UseResult<Answer>> =>
      using.run(
        request,
        deed => {
          if (request.asked instanceof Failure) throw request.asked;
          return perform(deed, request.asked);
        },
        { may: () => {}, count: 1 },
      ),
  };
}

function mayNotUse(): Failure {
  return new Failure('FORBIDDEN', {
    message: 'Forbidden: the access key may not use secrets or keys',
    because: 'may_not_use',
  });
}

function notWhole(): Failure {
  return new Failure('FORBIDDEN', {
    message:
      'Forbidden: an access key that is restricted by its holder, belongs to another or has a limited number of uses can’t start a run',
    because: 'restricted',
  });
}

function tooMany(): Failure {
  return new Failure('CONFLICT', {
    message: `An access key can have at most ${mostChildren} others at a time: end some runs, or let them expire`,
  });
}
