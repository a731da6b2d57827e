/** What something costs, whoever else uses the machine: the processor's time, calls, and turns of the event loop. */
import { syncBuiltinESMExports } from 'node:module';
import { mock } from 'node:test';

/** Milliseconds of processor time that this process spent on it, in all its threads. */
export async function processorTime(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** With what a function of one of the runtime's modules is called meanwhile, each time. */
export async function callsTo<Module extends object>(
  module: Module,
  name: keyof Module & string,
  work: () => unknown,
): Promise<unknown[][]> {
  const spy = mock.method(module as Record<string, (...args: unknown[]) => unknown>, name);
  syncBuiltinESMExports();
  try {
    await work();
    return spy.mock.calls.map(call => call.arguments);
  } finally {
    spy.mock.restore();
    syncBuiltinESMExports();
  }
}

/** Whether it was over before the event loop turned: no timer, no thread and no socket had a part in it. */
export async function isImmediate(work: () => Promise<unknown>): Promise<boolean> {
  let turned = false;
  setImmediate(() => {
    turned = true;
  });
  await work();
  return !turned;
}
