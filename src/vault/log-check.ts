/**
 * The proof that the logs are whole, for people who look at them in the dashboard. It reads every entry, so it
 * runs in short stretches beside everything else, one run at a time, and its result is kept for a while. The
 * chains are all organizations' together: each is told whether they hold, and nothing of the others' entries.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../access/caller.ts';
import type { LogVerification } from '../contract/logs.ts';
import { iso } from '../contract/text.ts';
import { isMarked } from '../logs/chain.ts';
import type { Ledger } from '../logs/ledger.ts';
import { databaseSource } from '../logs/source.ts';
import { type LogSource, type VerifyReport, verifyLogs } from '../logs/verify.ts';
import type { Parts } from './parts.ts';

/** A result this young is shown again instead of being worked out again. */
const fresh = 60_000;
/** Small logs are proven while one waits. */
const patience = 1_000;
/** How long it keeps others waiting. A link is an entry or a whole block, so they are not counted. */
const longestTurn = 5;

interface Result {
  readonly at: number;
  readonly report: VerifyReport;
}

export type LogCheck = (caller: Caller) => Promise<LogVerification>;

export function logCheckWith(parts: Parts & { readonly ledger: Ledger }): LogCheck {
  const { store, ledger, keyring, guard, now } = parts;
  let last: Result | null = null;
  let running: Promise<void> | null = null;

  const verify = () =>
    verifyLogs(unhurried(databaseSource(store)), {
      publicKey: keyring.logPublicKey,
      hasMark: (hash, mark) => isMarked(keyring, hash, mark),
    });

  async function run(): Promise<void> {
    const at = now();
    const report = await verify();
    // Retention may have removed entries while they were being read: what is really wrong is so twice.
    last = { at, report: report.ok ? report : await verify() };
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

  return async caller => {
    await guard.admit(caller, 'logs:read');
    if (last === null || now() - last.at > fresh)
      await Promise.race([start(), sleep(patience, undefined, { ref: false })]);
    await ledger.settle().catch(() => {});
    const total = (stream: 'request' | 'audit') => store.logs.total(caller.organizationId, stream);
    const entries = { request: await total('request'), audit: await total('audit') };
    return { ...present(last), running: running !== null, entries };
  };
}

/** Lets other work in between; an embedded database answers without ever waiting. */
function unhurried(source: LogSource): LogSource {
  return {
    ...source,
    async *links(stream) {
      let since = performance.now();
      for await (const link of source.links(stream)) {
        yield link;
        if (performance.now() - since < longestTurn) continue;
        await turn();
        since = performance.now();
      }
    },
  };
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
