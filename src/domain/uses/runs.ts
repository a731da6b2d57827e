/**
 * Runs from the side of the people who create, watch and end them. A run has an access key for each of its vaults,
 * which reads no values and uses secrets and keys through their use rules. Creating one requires what creating these
 * access keys requires, and it ends with what created it, as they do. A caller sees a run only if they see all of its
 * vaults.
 */
import { type Caller, memberBehind } from '../../access/caller.ts';
import { type Action, earliest, endOfAll, shownByAccessKey } from '../../access/policy.ts';
import { mintToken } from '../../access/token.ts';
import type { List } from '../../contract/common.ts';
import { Failure, invalid } from '../../contract/errors.ts';
import { longestRun, usualRun } from '../../contract/run-bounds.ts';
import type { CreatedRun, Run, RunCreate, RunQuery } from '../../contract/runs.ts';
import type { RunRow } from '../../store/records/runs.ts';
import { accessKeyEvent, newCredentialWith, subjectOf } from '../credentials/credential-changes.ts';
import { boundTo, checkLife, lifeOf } from '../credentials/credential-records.ts';
import { listOf } from '../kernel/collection.ts';
import { retryingStale } from '../kernel/conflict-retries.ts';
import type { Parts } from '../kernel/parts.ts';
import { covers, type Permit, vaultsAsked } from '../kernel/permits.ts';
import type { Allowed } from '../kernel/subjects.ts';
import type { Records } from '../resources/records.ts';
import { isTrusted } from '../resources/review.ts';
import { notFoundIn } from '../resources/subject.ts';
import {
  alreadyEnded,
  endingOf,
  presentRun,
  runEvents,
  runSubject,
  stateOf,
  vaultsOf,
} from './run-records.ts';

export type Runs = ReturnType<typeof runsWith>;

type Writing = Permit<'runs:write'>;

/** What an access key of a run shows. */
const shown = shownByAccessKey({ kinds: null, namesOnly: true, mayUse: true });
const longestName = 255;

export function runsWith(parts: Parts, records: Records) {
  const { store, stamps, guard, now, newId } = parts;
  const newRow = newCredentialWith(parts);

  /** A run in a vault that the caller doesn't see is not found. */
  async function find<A extends Action>(permit: Permit<A>, id: string): Promise<Allowed<RunRow, A>> {
    const row = await store.runs.byId(permit.caller.organizationId, id);
    const [first, ...others] = row === undefined ? [undefined] : vaultsOf(row);
    for (const vaultId of others) await guard.found(permit, row, vaultId);
    return stamps.run.believe<Allowed<RunRow, A>>(await guard.found(permit, row, first));
  }

  /** Only use rules of its vaults, so that it can't be told which others there are. */
  async function checkRules(organizationId: string, { rules, vault_ids }: RunCreate): Promise<void> {
    const unknown = notFoundIn('rules', 'must be ids of use rules of these vaults');
    for (const id of rules ?? []) {
      const found = await store.useRules.byId(organizationId, id);
      if (found === undefined || !vault_ids.includes(found.vault_id)) unknown(new Failure('NOT_FOUND'));
    }
  }

  function endFor(caller: Caller, { ends_at, vault_ids }: RunCreate): number {
    const latest = now() + longestRun * 1_000;
    if (ends_at !== undefined && ends_at <= now()) throw invalid('ends_at', 'must be in the future');
    if (ends_at !== undefined && ends_at > latest)
      throw invalid('ends_at', 'must be at most 30 days from now');
    if (ends_at !== undefined) return ends_at;
    const ends = vault_ids.map(id => endOfAll(caller, ['runs:write', 'access-keys:write', ...shown], id));
    return earliest(now() + usualRun * 1_000, caller.until, ...ends)!;
  }

  return {
    async list(permit: Permit<'runs:read'>, query: RunQuery): Promise<List<Run>> {
      const { caller, vaults } = permit;
      const asked = vaultsAsked(permit, query.vault_id);
      if (asked?.length === 0) return listOf<Run>([], 0, query);
      const filter = {
        organizationId: caller.organizationId,
        vaultIds: vaults ?? undefined,
        vaultId: query.vault_id,
        activeAt: query.state === 'active' ? now() : undefined,
      };
      const page = { page: query.page, limit: query.limit, asOf: query.as_of };
      const { rows, total } = await store.runs.page(filter, page);
      const believed = rows.map(row => stamps.run.believe<RunRow>(row));
      if (!believed.every(row => vaultsOf(row).every(id => covers(permit, id))))
        throw new Error('the index of runs does not match their rows');
      return listOf(
        believed.map(row => presentRun(row, now())),
        total,
        query,
      );
    },

    get: async (permit: Permit<'runs:read'>, id: string): Promise<Run> =>
      presentRun(await find(permit, id), now()),

    async create(permit: Writing, body: RunCreate): Promise<CreatedRun> {
      const { caller } = permit;
      const { organizationId } = caller;
      const { purpose, vault_ids, rules = null, budgets = {} } = body;
      const missing = notFoundIn('vault_ids', 'must be ids of vaults');
      for (const id of vault_ids) await records.reopenVault(permit, id).catch(missing);
      await checkRules(organizationId, body);
      const until = endFor(caller, body);
      checkLife(caller, until);
      const wanted = ['access-keys:write', ...shown] as const;
      await guard.mayShow(caller, wanted, vault_ids, { until });
      const id = newId();
      const narrowing = { names_only: true, run: { id, rules }, ...boundTo(caller) };
      const name = nameOf(purpose);
      const keys = await Promise.all(
        vault_ids.map(async vaultId => {
          const keyId = newId();
          const token = mintToken('vault', keyId);
          const fields = { name, vaultId, narrowing, expirationDate: until };
          return { row: await newRow('vault', caller, keyId, token, fields), token };
        }),
      );
      const row = stamps.run.create(now(), {
        id,
        organization_id: organizationId,
        purpose,
        access_keys: JSON.stringify(
          keys.map(key => ({ vault_id: key.row.vault_id, access_key_id: key.row.id })),
        ),
        rules: rules && JSON.stringify(rules),
        budgets: JSON.stringify(budgets),
        uses: 0,
        writes: 0,
        bytes: 0,
        state: 'active',
        ended_by: null,
        ends_at: until,
        member_id: memberBehind(caller),
        client: null,
        created_by: caller.id,
      });
      await guard.change(permit, 'run.created', {
        subjects: [
          { ...runSubject<'runs:write'>(row), lasts: lifeOf(keys[0]!.row) },
          ...keys.map(key => ({
            ...subjectOf<'runs:write'>(key.row, 'access-key'),
            verb: 'access-key.created' as const,
            details: { run: id },
            lasts: lifeOf(key.row),
          })),
        ],
        statements: [
          ...keys.flatMap(key => [
            store.credentials.insert(key.row),
            accessKeyEvent(parts, 'access_key.created', key.row),
          ]),
          ...store.runs.insert(row, indexOf(row.id, keys)),
          ...runEvents(parts, 'run.created', row),
        ],
        touches: [id, ...keys.map(key => key.row.id)],
      });
      const tokens = keys.map(({ row, token }) => ({
        vault_id: row.vault_id!,
        access_key_id: row.id,
        token,
      }));
      return { ...presentRun(row, now()), token: tokens[0]!.token, tokens };
    },

    end: (permit: Writing, id: string): Promise<Run> =>
      retryingStale(async () => {
        const before = await find(permit, id);
        if (stateOf(before, now()) !== 'active') {
          if (!isTrusted(permit.caller)) await guard.confirm(permit);
          throw alreadyEnded();
        }
        const { row, ...change } = await endingOf<'runs:write'>(parts, before, 'ended', permit.caller.id);
        await guard.change(permit, 'run.ended', change);
        return presentRun(row, now());
      }),
  };
}

/** What its access keys are called. */
export function nameOf(purpose: string): string {
  return [...purpose].slice(0, longestName).join('').trim();
}

export function indexOf(
  run_id: string,
  keys: readonly { readonly row: { readonly id: string; readonly vault_id: string | null } }[],
) {
  return keys.map(({ row }) => ({ run_id, access_key_id: row.id, vault_id: row.vault_id! }));
}
