/** The thread of the plane of uses. */
import { parentPort } from 'node:worker_threads';
import { UsesPlane } from './uses-plane.ts';

new UsesPlane(parentPort!);
