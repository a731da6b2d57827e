/** Opens the data in another thread that the reading plane has opened: with the same writer, keyring and clock. */
import type { Sealed } from '../../base/bytes.ts';
import { clockWith, wallClock } from '../../base/clock.ts';
import { idGenerator } from '../../contract/id.ts';
import { Keyring } from '../../keyring/keyring.ts';
import { Meter } from '../../metrics/meter.ts';
import { openStore, type Sibling } from '../../store/store.ts';
import { locationOf, type Opened } from '../opening/open-data.ts';
import { keyringWrapperOf } from '../opening/root-key-sources.ts';
import type { PlaneData } from './messages.ts';

export async function openInPlane(
  { config, writer, movedClock, signed, meter, ...data }: PlaneData,
  sibling: Sibling,
): Promise<Omit<Opened, 'accepted'>> {
  const location = locationOf(config, true);
  const beside = location.engine === 'sqlite' ? { ...location, writer: writer! } : location;
  const store = await openStore(beside, sibling);
  // The reading plane has the same clock, and reports to the operator if it is behind.
  const parts = { wall: wallClock(movedClock), elapsed: () => performance.now(), signed, onBehind: () => {} };
  const clock = clockWith(parts);
  return {
    store,
    keyring: Keyring.takeOver(data.keyring),
    wrapper: keyringWrapperOf(config).takeOver(data.slot),
    storedKeyring: data.storedKeyring as Sealed,
    ...clock,
    newId: idGenerator(clock.now),
    meter: new Meter(meter),
    signed,
  };
}
