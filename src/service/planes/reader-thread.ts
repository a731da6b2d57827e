/** The thread of a reader. */
import { starterPort } from '../../threads/thread.ts';
import { readerPlane } from './reader-plane.ts';

readerPlane(starterPort());
