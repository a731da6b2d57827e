/**
 * The other planes on the test's own event loop: they say and hear the same as in threads of their own, and cost
 * neither a thread nor a second copy of every module. What needs the threads is tested with them: test/planes.test.ts,
 * test/uses-plane.test.ts, and all that starts the command.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { managementPlane } from '../src/service/planes/management-plane.ts';
import { usesPlane } from '../src/service/planes/uses-plane.ts';
import type { Port, Services } from '../src/threads/channel.ts';
import { type StartThread, type ThreadOptions, threadOver } from '../src/threads/thread.ts';

const planes: Readonly<Record<string, (port: MessagePort) => void>> = {
  'management-thread': managementPlane,
  'uses-thread': usesPlane,
};

const startPlane: StartThread = <Far extends Services>(file: URL, options: ThreadOptions) => {
  const [, name] = /([^/]*)\.[jt]s$/.exec(file.pathname)!;
  const { port1, port2 } = new MessageChannel();
  planes[name!]!(port2);
  const ended = new Promise<void>(resolve => port1.once('close', () => resolve()));
  const thread = threadOver<Far>(port1 as Port, options, {
    ended,
    whyEnded: () => undefined,
    terminate: async () => {
      thread.notify('stop', ...([] as never));
      await ended;
    },
    hold: () => {},
  });
  return thread;
};

export const oneThread = { startPlane };
