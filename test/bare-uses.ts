/**
 * All that uses of secrets and keys stand on, in place of a store, a log, a broker and threads: each notes what it was
 * asked, and answers as a test says. What decides is real.
 */
import type { Reader } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { StaleChange } from '../src/domain/kernel/conflict-retries.ts';
import { ProposalMade } from '../src/domain/resources/review.ts';
import { concurrencyOf } from '../src/domain/uses/concurrency.ts';
import type { Identified } from '../src/domain/uses/recorded-uses.ts';
import type { SecretUseParts, UseRequest } from '../src/domain/uses/secret-uses.ts';
import { type BrokeredCall, type BrokeredResult, nothing } from '../src/egress/brokered-answer.ts';
import type { RequestEntry } from '../src/logs/entries.ts';
import type { KeyJob, KeyOutput } from '../src/material/operations/key-operations.ts';
import type { ChangeListener } from '../src/store/engine/engine.ts';
import type { ApprovalRow } from '../src/store/records/approvals.ts';

export const newId = idGenerator(Date.now);
/** Long enough to be looked for. */
export const value = 'a-value-that-is-long-enough-0123456789';
export const vaultId = newId();
export const organizationId = newId();

export interface Row {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly version: number;
  readonly revision: number;
  readonly vault_id: string;
  readonly deleted_at: number | null;
  readonly value: string;
  readonly attributes: string | null;
  /** Of the row, and of it when its value is read: one that is not ours is not believed. */
  readonly isForged?: boolean;
  readonly isForgedLater?: boolean;
}

export const rowOf = (said: Partial<Row> = {}): Row => ({
  id: newId(),
  name: 'TOKEN',
  type: 'secret',
  version: 1,
  revision: 1,
  vault_id: vaultId,
  deleted_at: null,
  value,
  attributes: '{}',
  ...said,
});

export class BareUses {
  reader: Reader = {
    kind: 'access-key',
    id: newId(),
    name: 'agent',
    organizationId,
    vaultId,
    kinds: null,
    names: [],
    namesOnly: true,
    mayUse: true,
    operations: null,
    cidrs: null,
    rateLimit: null,
    maxUses: null,
    expirationDate: null,
    parentName: null,
    countedAs: 'counted',
    givenBy: 'given',
    byOAuth: false,
    run: null,
    narrowing: null,
    view: '',
  };
  time = Date.parse('2026-11-18T12:00:00Z');
  /** What looking something up fails with. */
  broken: Error | null = null;
  log: RequestEntry[] = [];
  rows: Row[] = [];
  rules: Record<string, unknown>[] = [];
  /** What was asked of the vault. */
  asked: string[] = [];
  hears = true;
  /** Whether the reader sees what it found before. */
  isSeen = true;
  counted = new Map<string, number>();
  /** What was counted, in its order: the first letters of what stands for it. */
  counts: string[] = [];
  approvals: ApprovalRow[] = [];
  /** Audited changes. */
  changes: string[] = [];
  orders: BrokeredCall[] = [];
  looked: string[] = [];
  result: Partial<BrokeredResult> = {};
  partsIn: (text: string) => number = () => 0;
  jobs: string[] = [];
  /** Whether a row that was found is still there when its value is read. */
  isThere = true;
  /** Whether what is to be stored becomes a proposal. */
  proposes = false;
  /** How often a change is overtaken. */
  stale = 0;
  listener: ChangeListener = () => {};

  get parts(): SecretUseParts {
    const believe = { believe: <T>(row: T) => row, stamp: <T>(row: T) => row };
    const believeRow = {
      believe: (row: Row) => {
        if (row.isForged) throw new Failure('INTERNAL_ERROR');
        return row;
      },
    };
    const revise = (before: object, changes: object) => ({ ...before, ...changes });
    const take = (subject: string, window: number, count: number) => {
      const key = `${subject} ${window}`;
      this.counts.push(`${subject} +${count}`);
      this.counted.set(key, (this.counted.get(key) ?? 0) + count);
      return this.counted.get(key)!;
    };
    const find = (what: string, found: Row | undefined) => {
      this.asked.push(what);
      if (this.broken !== null) throw this.broken;
      if (found === undefined) throw new Failure('NOT_FOUND');
      return found;
    };
    const holder = { member: { state: 'active', role: 'owner', grants: '[]', updated_at: 0 }, groups: [] };
    return {
      now: () => this.time,
      newId,
      store: {
        onChange: (listener: ChangeListener) => {
          this.listener = listener;
        },
        hearsChanges: () => this.hears,
        limits: {
          take: async (subject: string, window: number, count: number) => take(subject, window, count),
          taken: async (subject: string, window: number) => {
            this.counts.push(`${subject} ?`);
            return this.counted.get(`${subject} ${window}`) ?? 0;
          },
        },
        useRules: {
          ofResource: async () =>
            this.rules.map(({ id, name, revision, ...rule }) => ({
              id,
              name,
              revision,
              rule: JSON.stringify(rule),
            })),
        },
        resources: {
          byId: async (organization: string, id: string) =>
            organization === organizationId ? this.rows.find(row => row.id === id) : undefined,
          withValue: async (vault: string, id: string) => {
            const found = this.rows.find(row => row.vault_id === vault && row.id === id);
            return found && this.isThere ? { ...found, isForged: found.isForgedLater } : undefined;
          },
          vault: async (id: string) =>
            id === vaultId ? { id, type: 'vault', organization_id: organizationId } : undefined,
        },
        credentials: {
          byId: async () => ({ uses: 0, max_uses: 5, revision: 1, revoked_at: null, expiration_date: null }),
          update: () => 'credential updated',
        },
        approvals: {
          ofAccessKey: async () => this.approvals,
          fewerWaiting: () => [],
          insert: (row: ApprovalRow) => {
            this.approvals.push(row);
          },
          update: () => 'approval updated',
        },
        outbox: { add: () => 'event' },
        conditions: { unchanged: () => 'unchanged' },
      },
      stamps: {
        useRule: believe,
        resource: believeRow,
        credential: believe,
        approval: {
          ...believe,
          revise,
          create: (now: number, row: object) => ({ ...row, created_at: now, updated_at: now, revision: 1 }),
        },
        stampEvent: <T>(event: T) => event,
      },
      guard: {
        used: async (_: unknown, verb: string) => {
          if (this.stale-- > 0) throw new StaleChange();
          this.changes.push(verb);
        },
      },
      ledger: {
        record: async (entry: RequestEntry) => {
          this.log.push(entry);
          return `receipt ${this.log.length}`;
        },
      },
      visibility: {
        openVault: async () => {
          this.asked.push('vault');
          return { row: { id: vaultId }, sealer: { seal: () => Buffer.alloc(0) } };
        },
        byName: async (_: unknown, kind: string, name: string) =>
          find(
            `${kind} named ${name}`,
            this.rows.find(row => row.name === name && row.type === kind),
          ),
        byId: async (_: unknown, id: string, kind: string) =>
          find(
            `${kind} with an id`,
            this.rows.find(row => row.id === id && row.type === kind),
          ),
        refuseUnseen: () => {
          if (!this.isSeen) throw new Failure('NOT_FOUND', { because: 'restricted' });
        },
        present: { value: (row: Row) => row.value },
        opened: async (row: Row) => ({ value: row.value, values: [] }),
      },
      records: {
        openValue: (_: unknown, __: unknown, stored: string) => stored,
        revisionOf: (_: unknown, before: Row, vault: unknown, changes: { value: string }) => ({
          row: { ...before, ...changes, version: before.version + 1 },
          subject: {},
          vault,
          proposed: () => 'proposed',
        }),
        statementsOf: () => [],
        forgetVault: () => this.asked.push('vault again'),
        vaultOf: async (row: Row) => ({
          row: { id: row.vault_id },
          sealer: { seal: () => Buffer.alloc(0) },
        }),
        review: {
          passUse: async () => {
            if (this.proposes) throw new ProposalMade({ id: 'proposal', expires_at: 0 });
            return {};
          },
        },
      },
      workers: {
        of: () => ({
          operateKey: async ({ operation, versions: [key], inputs }: KeyJob): Promise<KeyOutput[]> =>
            inputs.map(({ alg, value, signature, version }) => {
              const proof = signature === undefined ? '' : ` ${signature}`;
              this.jobs.push(`${operation} ${key.value ?? key.publicPem} ${alg} ${value}${proof}`);
              if (operation === 'verify') return { version, valid: true };
              return { version, value: operation === 'sign' ? 'signature' : 'plaintext' };
            }),
        }),
      },
      holders: { byMember: async () => holder, fresh: async () => holder },
      slots: concurrencyOf(),
      broker: {
        call: async (order: BrokeredCall) => {
          this.orders.push(order);
          return { ...nothing, outcome: 'answered', status: 200, ...this.result };
        },
        partsIn: async (_: unknown, text: Buffer) => {
          this.looked.push(text.toString());
          return this.partsIn(text.toString());
        },
      },
    } as unknown as SecretUseParts;
  }

  /** As a person does: the call that waits is approved, or refused. */
  decide(state: 'approved' | 'refused', scope: 'call' | 'rule' = 'call'): void {
    this.approvals = this.approvals.map(row => ({ ...row, state, scope, decided_by: 'them' }));
  }

  /** A request of the reader, as it is now. */
  request(call: UseRequest['call'], said: Partial<UseRequest> = {}): Identified<UseRequest> {
    return {
      sender: { address: '192.0.2.1', userAgent: 'agent' } as UseRequest['sender'],
      requestId: null,
      route: '/use',
      method: 'POST',
      tool: null,
      token: null,
      vaultId,
      keyId: null,
      reader: this.reader,
      call,
      ...said,
    };
  }
}
