/** The thread of the plane of uses. */
import { giveWay } from '../../threads/priority.ts';
import { starterPort } from '../../threads/thread.ts';
import { usesPlane } from './uses-plane.ts';

/** A call waits for another service anyway; reads of a vault come first. */
const niceness = 10;

giveWay(niceness);
usesPlane(starterPort());
