/** The thread of one scheduled backup. Its proof takes the root key, so it also shows that this key opens the backup. */
import { parentPort, workerData } from 'node:worker_threads';
import packageJson from '../package.json' with { type: 'json' };
import { backupToFile } from './backup/backup.ts';
import { recipientsOf } from './backup/recipients.ts';
import { KeyringWrapper } from './keyring/stored-keyring.ts';
import { locationOf, rootKeySource } from './open-data.ts';
import { messageOf } from './report.ts';
import type { BackupJob, BackupOutcome } from './scheduled-backups.ts';

const { place, file, encryptedFor, startedAt } = workerData as BackupJob;
const begun = performance.now();
const wrapper = new KeyringWrapper(rootKeySource(place));
const parts = {
  location: locationOf(place, false),
  recipients: recipientsOf(encryptedFor),
  version: packageJson.version,
  now: () => startedAt + (performance.now() - begun),
};
const outcome: BackupOutcome = await backupToFile(parts, file, stored => wrapper.unwrap(stored)).then(
  taken => ({ taken }),
  async error => ({ failed: await messageOf(error) }),
);
parentPort!.postMessage(outcome);
