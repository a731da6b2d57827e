/**
 * Compares the log with the state at the start: the kept checkpoint with the database, and the newest signed time with
 * the clock. The service refuses to start on a database that is older than the checkpoint, or with a clock that is far
 * behind. An operator can override this once, for the checkpoint that the message names, so that a flag left in place
 * accepts no other.
 */
import { createPublicKey } from 'node:crypto';
import type { SignedTime } from '../../base/clock.ts';
import type { Acceptance } from '../../domain/operations/acceptance.ts';
import { disagreement, numberOf, readCheckpointFile } from '../../logs/checkpoint-file.ts';
import { type Checkpoint, isSignedBy, type SignedCheckpoint } from '../../logs/checkpoints.ts';
import { type Location, openSnapshot, type Store } from '../../store/store.ts';
import { StartRefused } from '../settings/config.ts';

/** How far the clock may be behind the log at the start, in milliseconds; time then continues from the log's. */
const farthestBehind = 86_400_000;

/** Null if the database agrees with the kept checkpoint, or if there is none. */
export async function checkDatabase(
  file: string,
  publicKey: string | null,
  location: Location,
  accepted: number,
): Promise<Acceptance | null> {
  const kept = await readOurs(file, publicKey);
  if (kept === null) return null;
  const why = await disagreementWith(kept, publicKey === null ? null : location);
  if (why === null) return null;
  const number = numberOf(kept);
  if (accepted !== number)
    throw new StartRefused(
      `the database does not match the checkpoint in ${file}: ${why}. If you restored a backup on purpose, start once with --accept-restore ${number}, which keeps that file under another name`,
    );
  return { verb: 'log.restore_accepted', details: { checkpoint: number, found: why } };
}

/** `location` is null if there is no database yet. */
async function disagreementWith(kept: SignedCheckpoint, location: Location | null): Promise<string | null> {
  if (location === null) return disagreement(kept, null);
  const snapshot = await openSnapshot(location);
  return disagreement(kept, snapshot.logs).finally(() => snapshot.close());
}

async function readOurs(file: string, publicKey: string | null): Promise<SignedCheckpoint | null> {
  const kept = await readCheckpointFile(file).catch(error => {
    throw new StartRefused(
      `${file} can’t be read as a checkpoint: ${reasonOf(error)}; move it away if it is not needed`,
    );
  });
  if (kept === null || publicKey === null || isSignedBy(createPublicKey(publicKey), kept)) return kept;
  throw new StartRefused(
    `the checkpoint in ${file} was not signed with this database’s keyring: move it to where it belongs`,
  );
}

function reasonOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'it is damaged';
}

interface Signed extends SignedTime {
  readonly number: number;
}

/** The time in the newest checkpoint; null if there is none, or if it is not one of ours. */
export async function signedTime({ logs }: Store, publicKey: string): Promise<Signed | null> {
  const last = await logs.lastCheckpoint();
  if (last === undefined || !isSignedBy(createPublicKey(publicKey), last)) return null;
  const { number, created_at, aged_at = created_at } = JSON.parse(last.body) as Checkpoint;
  return { number, now: Date.parse(created_at), aged: Date.parse(aged_at) };
}

/** Null if the clock is not far behind the log. */
export function checkClock(signed: Signed | null, wall: number, accepted: number): Acceptance | null {
  if (signed === null || signed.now - wall <= farthestBehind) return null;
  const times = { signed_at: new Date(signed.now).toISOString(), clock_at: new Date(wall).toISOString() };
  if (accepted !== signed.number)
    throw new StartRefused(
      `the clock says ${times.clock_at}, but the log was last signed at ${times.signed_at}: set the clock. If the clock was wrong before and is right now, start once with --accept-clock ${signed.number}`,
    );
  return { verb: 'log.clock_accepted', details: { checkpoint: signed.number, ...times } };
}
