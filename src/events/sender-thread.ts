/** Runs the sender in its own thread, so that receivers' behaviour does not affect the thread that serves vaults. */
import { egressInto } from '../access/egress.ts';
import { systemResolve } from '../egress/connections.ts';
import { threadData, toStarter } from '../threads/thread.ts';
import { senderWith } from './sender.ts';
import { gathering, type SenderServices } from './sender-client.ts';

const egress = egressInto(threadData<readonly string[]>());
const sender = senderWith({ egress, resolve: systemResolve() });
const services: SenderServices = { send: message => sender.send(message) };
toStarter(services, { gather: gathering });
