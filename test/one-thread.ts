/**
 * The other planes on the test's own event loop: they say and hear the same as in threads of their own, and cost
 * neither a thread nor a second copy of every module. What needs the threads is tested with them: test/planes.test.ts,
 * test/uses-plane.test.ts, and all that starts the command.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { StartPlane } from '../src/planes/management.ts';
import { ManagementPlane } from '../src/planes/management-plane.ts';
import type { StartUses } from '../src/planes/uses.ts';
import { UsesPlane } from '../src/planes/uses-plane.ts';

function linkTo(begin: (port: MessagePort) => unknown, onMessage: (message: never) => void) {
  const { port1, port2 } = new MessageChannel();
  begin(port2);
  port1.on('message', onMessage as (message: unknown) => void);
  const ended = new Promise<void>(resolve => port1.once('close', () => resolve()));
  const terminate = async () => {
    port1.postMessage({ kind: 'stop' });
    await ended;
  };
  const post = (message: unknown, transfer: readonly (ArrayBuffer | MessagePort)[]) =>
    port1.postMessage(message, [...transfer]);
  return { post, terminate, ended };
}

const startPlane: StartPlane = ({ onMessage }) => linkTo(port => new ManagementPlane(port), onMessage);
const startUses: StartUses = ({ onMessage }) => linkTo(port => new UsesPlane(port), onMessage);

export const oneThread = { startPlane, startUses };
