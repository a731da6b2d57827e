/** The thread of the management plane. */
import { starterPort } from '../../threads/thread.ts';
import { managementPlane } from './management-plane.ts';

managementPlane(starterPort());
