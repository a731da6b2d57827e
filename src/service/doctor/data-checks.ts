/** The checks of the data: schema, root key, replication, database roles, notifications and logs. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMarked } from '../../logs/chain.ts';
import { readCheckpointFile } from '../../logs/checkpoint-file.ts';
import { signedAt } from '../../logs/checkpoints.ts';
import { databaseSource } from '../../logs/source.ts';
import { verifyLogs } from '../../logs/verify.ts';
import { openStore } from '../../store/store.ts';
import { archiveFolder, checkpointFile, locationOf } from '../opening/open-data.ts';
import { inData } from '../settings/config.ts';
import { counted } from '../settings/report.ts';
import { type Found, failed, lasting, NotChecked, ok, sized, warning } from './check.ts';
import type { Examined } from './examined.ts';

export async function schema({ snapshot }: Examined): Promise<Found> {
  const { diagnostics } = await snapshot();
  const left = await diagnostics.stepsLeft();
  const { bytes } = await diagnostics.size();
  const fault = (await diagnostics.schemaFault()) ?? (await diagnostics.damage());
  if (fault !== null)
    return failed(
      `the schema is not what the migrations created: ${fault}; see docs/operations.md, and keep a copy`,
    );
  if (left.length === 0) return ok(`the tables match this version (${sized(bytes)})`);
  return warning(
    `the database is from an earlier version; the next start migrates it (${left.join(', ')}): run strongroom migrate --dry-run, and take a backup`,
  );
}

export async function rootKey({ keyring }: Examined): Promise<Found> {
  const { term } = await keyring();
  return ok(`it opens the keyring (version ${term})`);
}

/** In bytes: a failover to a standby that is further behind would lose a noticeable amount of data. */
const farBehind = 64 * 1024 ** 2;

export async function replication({ given }: Examined): Promise<Found> {
  const found = await (await given.snapshot()).diagnostics.replication();
  if (found === null) return ok('not used: an embedded database has no standby');
  if (found.isStandby)
    return failed('this server is a standby, which does not accept writes: connect to the primary');
  const { standbys } = found;
  if (standbys.length === 0) return ok('no standby is connected');
  const late = standbys.filter(({ behind }) => (behind ?? 0) > farBehind);
  if (late.length > 0)
    return warning(`${late.length} of ${standbys.length} standbys are more than ${sized(farBehind)} behind`);
  return ok(`${standbys.length} connected: ${standbys.map(one => one.state).join(', ')}`);
}

/** A role that may connect can at least disrupt the service; one that may create or write can alter stored data. */
export async function rights({ given }: Examined): Promise<Found> {
  const strangers = await (await given.snapshot()).diagnostics.strangers();
  const named = (some: typeof strangers) => some.map(({ name }) => name).join(', ');
  const mighty = strangers.filter(({ creates, writes }) => creates || writes);
  if (mighty.length > 0)
    return warning(`other roles may create or write in this schema: revoke their rights (${named(mighty)})`);
  if (strangers.length > 0)
    return warning(`other roles may connect to this database: revoke their rights (${named(strangers)})`);
  return ok('no other role may connect to the database');
}

const longestSilence = 10_000;

/** Tests notifications on a separate connection; the service reports its own state at /readyz. */
export async function hearing({ config, given, now }: Examined): Promise<Found> {
  const left = await (await given.snapshot()).diagnostics.stepsLeft();
  // Opening the store would migrate it.
  if (left.length > 0) throw new NotChecked('the database is from an earlier version');
  if (config['database-url'] === null) return ok('the service checks for changes by commands twice a second');
  const store = await openStore(locationOf(config, false));
  try {
    const giveUp = now() + longestSilence;
    while (!store.hearsChanges() && now() < giveUp) await sleep(100);
    if (store.hearsChanges()) return ok('notifications arrive from PostgreSQL');
    return failed(
      'notifications do not arrive from PostgreSQL: connect directly, or through a session pooler',
    );
  } finally {
    await store.close();
  }
}

/** In milliseconds, after the end of a credential. */
const lateAfter = 5 * 60_000;

/** What could not be revoked gives access for longer than anyone was promised. */
export async function leases({ given, now }: Examined): Promise<Found> {
  const snapshot = await given.snapshot();
  const left = await snapshot.diagnostics.stepsLeft();
  if (left.length > 0) throw new NotChecked('the database is from an earlier version');
  const { states, late, failingIssuers } = await snapshot.leases.counts(now() - lateAfter);
  const said = [
    ...(late > 0 ? [`${counted(late, 'credential')} could not be revoked`] : []),
    ...(failingIssuers > 0 ? [`${counted(failingIssuers, 'issuer')} can’t be reached`] : []),
  ];
  if (said.length > 0)
    return warning(`${said.join(', ')}: strongroom leases list and issuers check say which, and why`);
  const active = states.get('active') ?? 0;
  return ok(
    active === 0 ? 'no short-lived credentials are active' : `${counted(active, 'credential')} active`,
  );
}

/** A running service signs at least twice a minute. */
const longestUnsigned = 90_000;

export async function logs({ config, given, service, now }: Examined): Promise<Found> {
  const snapshot = await given.snapshot();
  const keyring = await given.keyring().catch(() => null);
  const publicKey = keyring?.logPublicKey ?? (await readFile(inData(config, 'log-public-key.pem'), 'utf8'));
  const kept = (await readCheckpointFile(checkpointFile(config))) ?? undefined;
  const hasMark = (hash: string, mark: string) => isMarked(keyring!, hash, mark);
  const report = await verifyLogs(databaseSource(snapshot), {
    publicKey,
    kept,
    archives: archiveFolder(config),
    ...(keyring === null ? {} : { hasMark }),
  });
  const [first] = report.findings;
  const { request, audit } = report.entries;
  if (first !== undefined)
    return failed(`not intact: ${first.what}: ${first.where}; run strongroom audit verify, and keep a copy`);
  const last = await snapshot.logs.lastCheckpoint();
  const age = last === undefined ? 0 : now() - signedAt(last);
  if (age > longestUnsigned && (await service().catch(() => null)) !== null)
    return failed(`the service has not signed the logs for ${lasting(age)}: see its reports`);
  const text = `${counted(request, 'request entry', 'request entries')} and ${counted(audit, 'audit entry', 'audit entries')} are intact`;
  if (kept === undefined)
    return warning(`${text}, but there is no ${checkpointFile(config)} to compare the end of the logs with`);
  return ok(text);
}
