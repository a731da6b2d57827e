/**
 * A management plane on the test's own event loop: it says and hears the same as in a thread of its own, and costs
 * neither a thread nor a second copy of every module. What needs the thread is tested with it: test/planes.test.ts, and
 * all that starts the command.
 */
import { MessageChannel } from 'node:worker_threads';
import type { StartPlane } from '../src/planes/management.ts';
import { ManagementPlane } from '../src/planes/management-plane.ts';

export const inOneThread: StartPlane = ({ onMessage }) => {
  const { port1, port2 } = new MessageChannel();
  new ManagementPlane(port2);
  port1.on('message', onMessage);
  const ended = new Promise<void>(resolve => port1.once('close', () => resolve()));
  const terminate = async () => {
    port1.postMessage({ kind: 'stop' });
    await ended;
  };
  return { post: (message, transfer) => port1.postMessage(message, [...transfer]), terminate, ended };
};
