/** Lets other threads of the process go first where cores are short. Where they are not, nothing changes. */
import { setPriority } from 'node:os';

/** For the thread that calls this, and those that it starts: on Linux alone, where a thread has a priority of its own. */
export function giveWay(niceness: number): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, niceness);
  } catch {
    // A sandbox that forbids it costs us order, and nobody an answer.
  }
}
