/** Opens the full domain on the data that a Config names, for commands and for the management plane. */
import packageJson from '../../../package.json' with { type: 'json' };
import { egressInto } from '../../access/egress.ts';
import { domainWith } from '../../domain/domain.ts';
import type { Facts } from '../../domain/operations/overview.ts';
import type { OtherPlane } from '../../domain/reading.ts';
import type { PasswordCosts } from '../../domain/sign-in/passwords.ts';
import { type Broker, brokerWith } from '../../egress/brokered-call.ts';
import { systemResolve } from '../../egress/connections.ts';
import { documentsWith } from '../../egress/documents.ts';
import { putAside } from '../../logs/checkpoint-file.ts';
import { Checkpointer, type CheckpointerParts } from '../../logs/checkpoints.ts';
import type { Ledger } from '../../logs/ledger.ts';
import type { DataPlace } from '../settings/config.ts';
import { dialInto } from './dial.ts';
import {
  checkpointFile,
  type Opened,
  type OpenParts,
  openData,
  requireData,
  type ServePlace,
} from './open-data.ts';

export type Strongroom = Awaited<ReturnType<typeof strongroomOver>>;

export async function openStrongroom(
  place: DataPlace & ServePlace,
  serves: boolean,
  wall: () => number = Date.now,
  parts: OpenParts = {},
): Promise<Strongroom> {
  const opened = await openData(place, serves, wall, parts);
  try {
    return await strongroomOver(place, opened, !serves, parts.passwordCosts);
  } catch (error) {
    await opened.store.close();
    throw error;
  }
}

/** `signs`: sign the log on closing, because there may be no service that does. */
export async function strongroomOver(
  place: DataPlace & ServePlace,
  opened: Opened,
  signs: boolean,
  passwordCosts: PasswordCosts | undefined,
  other?: OtherPlane,
  backups: Facts['backups'] = () => null,
) {
  const { store, keyring, now, aged, newId, accepted } = opened;
  const privateIssuers = place['allow-private-issuers'] ?? [];
  const documents = documentsWith({ egress: egressInto(privateIssuers), resolve: systemResolve() });
  const privateWebhooks = place['allow-private-webhooks'] ?? [];
  let made: Broker | null = null;
  const broker = () => {
    made ??= brokerWith({ egress: egressInto(privateWebhooks), resolve: systemResolve() });
    return made;
  };
  const domain = domainWith({
    ...opened,
    other,
    passwordCosts,
    sendsMail: (place['smtp-url'] ?? null) !== null,
    privateWebhooks,
    privateIssuers,
    dial: dialInto(place['allow-private-leases'] ?? []),
    broker,
    fetchDocument: documents.fetch,
    oauthClients: { documents: place['oauth-client'] ?? [], mayFetch: place['oauth-fetch-clients'] ?? false },
    facts: {
      version: packageJson.version,
      logRetentionDays: place['log-retention-days'] ?? 0,
      auditRetentionDays: place['audit-retention-days'] ?? 0,
      backups,
    },
  });
  for (const one of accepted) await domain.accept(one);
  const restored = accepted.find(({ verb }) => verb === 'log.restore_accepted');
  // Now that it is recorded. The old checkpoint stays next to the new one.
  if (restored !== undefined) await putAside(checkpointFile(place), Number(restored.details.checkpoint));
  /** Finishes work in progress, then closes. */
  const close = async () => {
    await domain.ledger.drain();
    if (signs) await signOwn({ ...opened, ledger: domain.ledger });
    documents.close();
    made?.close();
    await domain.closeThreads();
    await store.close();
  };
  return { store, keyring, domain, now, aged, newId, meter: opened.meter, close };
}

/** Runs a command on existing data, with or without a running service. */
export async function withStrongroom<T>(
  place: DataPlace,
  run: (strongroom: Strongroom) => Promise<T>,
  parts: OpenParts = { isChecked: true },
): Promise<T> {
  await requireData(place);
  return withNewStrongroom(place, run, parts);
}

/** The same, but creates the data if there is none yet. Closes in every case. */
export async function withNewStrongroom<T>(
  place: DataPlace,
  run: (strongroom: Strongroom) => Promise<T>,
  parts: OpenParts = { isChecked: true },
): Promise<T> {
  const strongroom = await openStrongroom(place, false, Date.now, parts);
  try {
    return await run(strongroom);
  } finally {
    await strongroom.close();
  }
}

/**
 * Signs the log entries of a command before it ends, because there may be no running service to sign them. If there are
 * unfiled blocks, a service is running and will sign, or was killed and will sign at its next start; signing earlier
 * would skip them.
 */
async function signOwn(
  parts: Omit<CheckpointerParts, 'keep' | 'onError'> & { ledger: Ledger },
): Promise<void> {
  const { store, ledger } = parts;
  if (!ledger.hasWritten || (await store.requestLogs.left()).length > 0) return;
  const checkpointer = new Checkpointer({ ...parts, keep: async () => {}, onError: () => {} });
  await checkpointer.sign().catch(() => {}); // The command's changes are durable anyway.
}
