/** The thread of the management plane. */
import { parentPort } from 'node:worker_threads';
import { ManagementPlane } from './management-plane.ts';

new ManagementPlane(parentPort!);
