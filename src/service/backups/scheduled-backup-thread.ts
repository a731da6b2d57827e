/** The thread of one scheduled backup. It is verified with the root key, which shows that the key opens the backup. */
import packageJson from '../../../package.json' with { type: 'json' };
import { backupToFile } from '../../backup/backup.ts';
import { recipientsOf } from '../../backup/recipients.ts';
import { threadData, toStarter } from '../../threads/thread.ts';
import { locationOf } from '../opening/open-data.ts';
import { keyringWrapperOf } from '../opening/root-key-sources.ts';
import { messageOf } from '../settings/report.ts';
import type { BackupJob, BackupServices } from './scheduled-backups.ts';

const { place, file, slot, encryptedFor, startedAt } = threadData<BackupJob>();
const begun = performance.now();
const wrapper = keyringWrapperOf(place).takeOver(slot);
const parts = {
  location: locationOf(place, false),
  recipients: recipientsOf(encryptedFor),
  version: packageJson.version,
  now: () => startedAt + (performance.now() - begun),
};
const services: BackupServices = {
  take: () =>
    backupToFile(parts, file, stored => wrapper.unwrap(stored)).then(
      taken => ({ taken }),
      async error => ({ failed: await messageOf(error) }),
    ),
};
toStarter(services);
