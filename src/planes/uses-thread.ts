/** The thread of the plane of uses. */
import { parentPort } from 'node:worker_threads';
import { giveWay } from '../thread-priority.ts';
import { UsesPlane } from './uses-plane.ts';

/** Whoever has a call made waits for another service anyway; whoever reads a vault comes first. */
const niceness = 10;

giveWay(niceness);
new UsesPlane(parentPort!);
