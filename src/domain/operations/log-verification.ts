/**
 * The proof that the logs are whole, for people who look at them in the dashboard. It reads every entry, so it
 * runs in short stretches beside everything else, one run at a time, and its result is kept for a while. The
 * chains are all organizations' together: each is told whether they hold, and nothing of the others' entries.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import type { LogVerification } from '../../contract/logs.ts';
import { iso } from '../../contract/text.ts';
import { isMarked } from '../../logs/chain.ts';
import type { Ledger } from '../../logs/ledger.ts';
import { databaseSource } from '../../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../../logs/verify.ts';
import type { Parts } from '../kernel/parts.ts';
import { rowCheckWith } from '../kernel/row-check.ts';

/** A result this young is shown again instead of being worked out again. */
const fresh = 60_000;
/** Small logs are proven while one waits. */
const patience = 1_000;
/** In bytes: an embedded database of this size has its indexes checked in about a second. */
const largestChecked = 128 * 2 ** 20;
/** How long it keeps others waiting. A link is an entry or a whole block, so they are not counted. */
const longestTurn = 5;

interface Result {
  readonly at: number;
  readonly report: VerifyReport;
}

export interface VerifyLogs {
  (caller: Caller): Promise<LogVerification>;
  /** For the service itself: what it finds is counted, and told to whoever asks next. */
  prove(): Promise<void>;
}

export function verifyLogsWith(parts: Parts & { readonly ledger: Ledger }): VerifyLogs {
  const { store, ledger, keyring, stamps, guard, now, meter } = parts;
  const isProven = meter.gauge('strongroom_log_proof_ok', {});
  const provenAt = meter.gauge('strongroom_log_proof_timestamp_seconds', {});
  const isSound = rowCheckWith(stamps);
  let last: Result | null = null;
  let running: Promise<void> | null = null;

  /** By the thread that reads lists: an embedded database would stop this one meanwhile. */
  const schema = async () =>
    (await store.diagnostics.schemaFault(true)) ?? store.diagnostics.damage(largestChecked);

  /** All of it as it was at one moment, whatever is written or removed meanwhile. */
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
      running.catch(() => {}); // Whoever still waits is told; the next one starts it again.
    }
    return running;
  }

  const verify = async (caller: Caller): Promise<LogVerification> => {
    const { vaults } = await guard.admit(caller, 'logs:read');
    if (last === null || now() - last.at > fresh)
      await Promise.race([start(), sleep(patience, undefined, { ref: false })]);
    await ledger.settle().catch(() => {});
    // How many entries there are of all vaults is not for those who are given some.
    const total = (stream: 'request' | 'audit') =>
      vaults === null ? store.logs.total(caller.organizationId, stream) : 0;
    const entries = { request: await total('request'), audit: await total('audit') };
    return { ...present(last), running: running !== null, entries };
  };
  return Object.assign(verify, { prove: start });
}

function unhurried(source: LogSource & Required<Pick<LogSource, 'rows'>>): LogSource {
  return {
    ...source,
    links: stream => inTurns(source.links(stream)),
    rows: () => inTurns(source.rows()),
  };
}

/** Lets other work in between; an embedded database answers without ever waiting. */
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
  const counts = new Map<string, number>();
  for (const { what } of findings) counts.set(what, (counts.get(what) ?? 0) + 1);
  return {
    checked_at: iso(result.at),
    ok,
    checkpoints,
    findings: [...counts].map(([what, count]) => ({ what, count })),
  };
}
