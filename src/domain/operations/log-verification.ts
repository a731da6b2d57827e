/**
 * Verifies the logs for people who view them in the dashboard. Verification reads every entry, so it runs in short
 * turns beside other work, one run at a time, and its result is kept for a while. The chains contain the entries of
 * all organizations: each organization learns whether they are intact, and nothing about the others' entries.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { LogVerification } from '../../contract/logs.ts';
import { iso } from '../../contract/text.ts';
import { isMarked } from '../../logs/chain.ts';
import type { Ledger } from '../../logs/ledger.ts';
import { databaseSource } from '../../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../../logs/verify.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Permit } from '../kernel/permits.ts';
import { rowCheckWith } from '../kernel/row-check.ts';

/** A result no older than this is shown again instead of being computed again. */
const fresh = 60_000;
/** Small logs are verified while the caller waits. */
const patience = 1_000;
/** In bytes: checking the indexes of an embedded database of this size takes about a second. */
const largestChecked = 128 * 2 ** 20;
/** In milliseconds, how long it blocks other work: a link can be one entry or a whole block. */
const longestTurn = 5;

interface Result {
  readonly at: number;
  readonly report: VerifyReport;
}

export interface VerifyLogs {
  (permit: Permit<'logs:read'>): Promise<LogVerification>;
  /** For the service itself: findings are counted and shown to the next caller. */
  prove(): Promise<void>;
  /** Whether the last verification found something. Starts none, because it reads every entry. */
  isBroken(): boolean;
}

export function verifyLogsWith(parts: Parts & { readonly ledger: Ledger }): VerifyLogs {
  const { store, ledger, keyring, stamps, now, meter } = parts;
  const isProven = meter.gauge('strongroom_log_proof_ok', {});
  const provenAt = meter.gauge('strongroom_log_proof_timestamp_seconds', {});
  const isSound = rowCheckWith(stamps);
  let last: Result | null = null;
  let running: Promise<void> | null = null;

  /** Runs on the thread that reads lists, because an embedded database would block this one. */
  const schema = async () =>
    (await store.diagnostics.schemaFault(true)) ?? store.diagnostics.damage(largestChecked);

  /** Verifies the logs as of one moment, whatever is written or removed in the meantime. */
  async function run(): Promise<void> {
    const at = now();
    const snapshot = await store.snapshot();
    try {
      const report = await verifyLogs(
        { ...unhurried(databaseSource(snapshot)), schema },
        {
          publicKey: keyring.logPublicKey,
          hasMark: (hash, mark) => isMarked(keyring, hash, mark),
          isSound,
          now,
        },
      );
      last = { at, report };
      isProven(report.findings.length === 0 ? 1 : 0);
      provenAt(at / 1000);
    } finally {
      await snapshot.close();
    }
  }

  function start(): Promise<void> {
    if (running === null) {
      running = run().finally(() => {
        running = null;
      });
      running.catch(() => {}); // Callers still waiting get the error; the next one starts it again.
    }
    return running;
  }

  const verify = async ({ caller, vaults }: Permit<'logs:read'>): Promise<LogVerification> => {
    if (last === null || now() - last.at > fresh)
      await Promise.race([start(), sleep(patience, undefined, { ref: false })]);
    await ledger.settle().catch(() => {});
    // The number of entries of all vaults is not shown to callers with access to only some.
    const total = (stream: 'request' | 'audit') =>
      vaults === null ? store.logs.total(caller.organizationId, stream) : 0;
    const entries = { request: await total('request'), audit: await total('audit') };
    return { ...present(last), running: running !== null, entries };
  };
  const isBroken = () => last !== null && !last.report.ok;
  return Object.assign(verify, { prove: start, isBroken });
}

function unhurried(source: LogSource & Required<Pick<LogSource, 'rows'>>): LogSource {
  return {
    ...source,
    links: stream => inTurns(source.links(stream)),
    rows: () => inTurns(source.rows()),
  };
}

/** Lets other work run in between; an embedded database answers without ever waiting. */
async function* inTurns<T>(items: AsyncIterable<T>): AsyncIterable<T> {
  let since = performance.now();
  for await (const item of items) {
    yield item;
    if (performance.now() - since < longestTurn) continue;
    await turn();
    since = performance.now();
  }
}

function present(result: Result | null): Omit<LogVerification, 'running' | 'entries'> {
  if (result === null) return { checked_at: null, ok: null, checkpoints: 0, findings: [] };
  const { ok, checkpoints, findings } = result.report;
  const kinds = Map.groupBy(findings, ({ what }) => what);
  return {
    checked_at: iso(result.at),
    ok,
    checkpoints,
    findings: [...kinds].map(([what, { length }]) => ({ what, count: length })),
  };
}
