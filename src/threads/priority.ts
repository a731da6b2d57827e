/** Lets other threads of the process run first when all cores are busy. */
import { setPriority } from 'node:os';

/** Applies to the calling thread and the threads that it starts. Only Linux has priorities per thread. */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // A sandbox that forbids this only affects priorities.
  }
}
