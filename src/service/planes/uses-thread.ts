/** The thread of the plane of uses. */
import { giveWay, starterPort } from '../../threads/thread.ts';
import { usesPlane } from './uses-plane.ts';

/** Vault reads have priority, since a call waits for another service anyway. */
const niceness = 10;

giveWay(niceness);
usesPlane(starterPort());
