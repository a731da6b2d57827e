/**
 * Connections to destinations that users configured. The address is checked where it matters: the result of a name
 * lookup, before connecting; a literal address, for which no lookup happens; and the peer of the open connection,
 * before a byte is sent. The connection goes to exactly the address that was checked, so a name that resolves
 * differently a moment later has no effect.
 */
import { lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { ClientRequest, RequestOptions } from 'node:http';
import { request as encryptedRequest, Agent as HttpsAgent } from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as secure } from 'node:tls';
import { promisify } from 'node:util';
import { type Egress, hostOf, isLocalhost } from '../access/egress.ts';
import { Agent as HttpAgent, request as plainRequest } from '../base/node-http.ts';

/** Returns all addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** The service may not connect to this address. */
export class AddressRefused extends Error {
  constructor(reason = 'the address is not allowed') {
    super(reason);
  }
}

interface Dial {
  readonly host: string;
  readonly port: number;
}

type Connected = (error: Error | null, stream: Duplex) => void;

const connectPatience = 10_000;
const idlePatience = 10_000;
const mostHeaderText = 16 * 1024;

/**
 * Set explicitly: with `NODE_TLS_REJECT_UNAUTHORIZED=0` in the environment, any certificate would be accepted
 * otherwise.
 */
const certified = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const;

export interface Agents {
  readonly 'http:': HttpAgent;
  readonly 'https:': HttpsAgent;
}

/** How connections are reused. */
export interface Keeping {
  readonly keepAlive?: boolean;
  readonly maxFreeSockets?: number;
}

export function guardedAgents(
  egress: Egress,
  resolve: Resolve,
  { keepAlive = true, maxFreeSockets = 32 }: Keeping = {},
): Agents {
  const options = { keepAlive, maxFreeSockets, timeout: idlePatience };
  const plain = new HttpAgent(options);
  const encrypted = new HttpsAgent(options);
  plain.createConnection = ((dial: Dial, connected: Connected) => {
    dialOut(egress, resolve, dial, false, connected);
  }) as unknown as HttpAgent['createConnection'];
  encrypted.createConnection = ((dial: Dial & ConnectionOptions, connected: Connected) => {
    dialOut(egress, resolve, dial, true, (error, socket) => {
      if (error !== null) return connected(error, socket);
      const { host, servername } = dial;
      connected(null, secure({ socket, host, servername: servername ?? '', ...certified }));
    });
  }) as unknown as HttpsAgent['createConnection'];
  return { 'http:': plain, 'https:': encrypted };
}

/** Opens a request over one of the agents. */
export function requestTo(url: URL, agents: Agents, options: RequestOptions): ClientRequest {
  return (url.protocol === 'https:' ? encryptedRequest : plainRequest)({
    hostname: hostOf(url),
    port: url.port, // If empty, the default of the agent's protocol.
    path: url.pathname + url.search,
    agent: agents[url.protocol as keyof Agents],
    maxHeaderSize: mostHeaderText,
    ...options,
  });
}

export function destroy(agents: Agents): void {
  for (const agent of Object.values(agents)) agent.destroy();
}

function dialOut(
  egress: Egress,
  resolve: Resolve,
  { host, port }: Dial,
  encrypted: boolean,
  connected: Connected,
): void {
  const fail = (error: Error) => connected(error, undefined as never);
  if (isIP(host) !== 0 && !egress.permits(host, encrypted)) {
    process.nextTick(fail, new AddressRefused());
    return;
  }
  const lookup = judgedLookup(resolve, address => egress.permits(address, encrypted));
  const socket: Socket = connect({ host, port, lookup, noDelay: true, autoSelectFamily: true });
  const timer = setTimeout(() => socket.destroy(timedOut()), connectPatience);
  socket.once('error', fail);
  socket.once('close', () => clearTimeout(timer));
  socket.once('connect', () => {
    clearTimeout(timer);
    socket.off('error', fail);
    if (egress.permits(socket.remoteAddress ?? '', encrypted)) return connected(null, socket);
    socket.destroy();
    fail(new AddressRefused());
  });
}

/** Returns only permitted addresses. */
function judgedLookup(resolve: Resolve, permits: (address: string) => boolean): LookupFunction {
  return (name, { all }, answer) => {
    const give = answer as (error: Error | null, found?: unknown, family?: number) => void;
    resolve(name).then(
      addresses => {
        const permitted = addresses.filter(permits).map(address => ({ address, family: isIP(address) }));
        const [first] = permitted;
        if (first === undefined) give(addresses.length === 0 ? notFound() : new AddressRefused());
        else if (all) give(null, permitted);
        else give(null, first.address, first.family);
      },
      error => give(error),
    );
  };
}

/**
 * Queries the name servers directly: the system's own lookup blocks one of the process's few threads for as long as an
 * unresponsive name server takes. Only names that they don't know, for example from a hosts file, are looked up through
 * the system.
 */
export function systemResolve(
  resolver: NameServers = new Resolver({ timeout: 2_000, tries: 2 }),
  bySystem: Resolve = lookUpBySystem,
): Resolve {
  return async name => {
    if (isLocalhost(name)) return bySystem(name);
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const found = answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length > 0) return found;
    const silent = answers.some(answer => (answer as PromiseRejectedResult).reason?.code === 'ETIMEOUT');
    if (silent) throw timedOut();
    return bySystem(name);
  };
}

const lookupAll = promisify(systemLookup);

/** The name server queries that are needed. */
export type NameServers = Pick<Resolver, 'resolve4' | 'resolve6'>;

async function lookUpBySystem(name: string): Promise<string[]> {
  return (await lookupAll(name, { all: true })).map(({ address }) => address);
}

const timedOut = () => Object.assign(new Error('timed out'), { code: 'ETIMEDOUT' });
const notFound = () => Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
