/** Examines an installation, check by check, with or without a running service. */
import type { ServeConfig } from '../settings/config.ts';
import { type Check, type CheckResult, resultOf } from './check.ts';
import * as data from './data-checks.ts';
import { type Examined, examined } from './examined.ts';
import * as machine from './machine-checks.ts';

/** In display order. */
const checks = {
  versions: machine.versions,
  service: machine.service,
  schema: data.schema,
  'root-key': data.rootKey,
  permissions: machine.permissions,
  clock: machine.clock,
  disk: machine.disk,
  tls: machine.tls,
  backup: machine.backup,
  replication: data.replication,
  hearing: data.hearing,
  rights: data.rights,
  leases: data.leases,
  logs: data.logs,
} as const satisfies Readonly<Record<string, (of: Examined) => ReturnType<Check>>>;

export const checkNames: readonly string[] = Object.keys(checks);

export async function* examine(
  config: ServeConfig,
  skipped: readonly string[],
  now: () => number = Date.now,
): AsyncIterable<CheckResult> {
  const subject = examined(config, now);
  try {
    for (const [name, check] of Object.entries(checks))
      if (!skipped.includes(name)) yield await resultOf(name, () => check(subject));
  } finally {
    await subject.close();
  }
}
