/**
 * Listens on an address or on a Unix socket. Traffic that leaves the machine is encrypted, by the service or by a proxy
 * that the operator names; a Unix socket never leaves it.
 */
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { addressSet } from '../../access/address.ts';
import { isThisMachine } from '../../base/this-machine.ts';
import { peerReader } from '../../http/listener/request.ts';
import type { Connections } from '../../http/listener/server.ts';
import { serveOptions } from '../settings/command-options.ts';
import { type ServeConfig, UsageError } from '../settings/config.ts';
import { claimSocket } from './socket-file.ts';

/** Whether the service terminates TLS itself. The code that creates certificates is loaded only if it is needed. */
export function isEncrypted(config: ServeConfig): boolean {
  return config.tls !== null || config['tls-cert'] !== null || config['tls-key'] !== null;
}

/** Network traffic must be encrypted, by the service or by a proxy that the operator names. */
export function checkListener(config: ServeConfig): void {
  const { host, socket } = config;
  if (config['client-certificates'] && !isEncrypted(config))
    throw new UsageError('--client-certificates requires --tls-cert and --tls-key, or --tls auto');
  if (socket !== null) {
    checkSocket(config);
    return;
  }
  if (isEncrypted(config) || config['behind-proxy'].length > 0) return;
  if (isThisMachine(host)) return;
  throw new UsageError(
    '--host is not a loopback address: use --tls-cert and --tls-key, --tls auto, or --behind-proxy',
  );
}

/** A hint for the operator about the dashboard's address; null if there is nothing to say. */
export function addressAdvice(config: ServeConfig): string | null {
  if (config['public-url'].length > 0 || config['behind-proxy'].length === 0) return null;
  return 'without --public-url, people can’t sign in to the dashboard through the proxy: set it to the address that browsers use';
}

/** Refuses an address or a certificate together with a socket, because it would be silently ignored. */
function checkSocket(config: ServeConfig): void {
  if (config.host !== serveOptions.host.fallback)
    throw new UsageError('--socket and --host can’t be combined: the service listens on one of them');
  if (isEncrypted(config))
    throw new UsageError('--socket can’t be combined with TLS: its traffic stays on this machine');
}

/** If a proxy terminates TLS, only that proxy and this machine may connect, so that no client sends plain HTTP. */
export function connectionsOf(config: ServeConfig, encrypted: boolean): Connections {
  const proxies = config['behind-proxy'];
  const isClear = !encrypted && proxies.length > 0;
  return {
    peerOf: peerReader(config.socket !== null),
    admits: isClear ? addressSet([...proxies, '127.0.0.0/8', '::1/128']) : () => true,
    isProxy: addressSet(proxies),
    mostPerAddress: config['connections-per-address'],
  };
}

/** What accepts connections. */
export interface Listener {
  listen(place: { readonly host?: string; readonly port?: number; readonly path?: string }): Promise<unknown>;
  close(): Promise<unknown>;
  readonly server: { address(): unknown };
}

/** Returns a function to call once the listener is closed. */
export async function bind(app: Listener, config: ServeConfig): Promise<() => void> {
  if (config.socket !== null) return bindSocket(app, resolve(config.socket), config['socket-mode']);
  const { host, port } = config;
  await app.listen({ host, port }).catch(error => {
    throw refusedPort('--port', port, error);
  });
  return () => {};
}

async function bindSocket(app: Listener, path: string, mode: number): Promise<() => void> {
  const claimed = await claimSocket(path);
  try {
    await app.listen({ path });
    claimed.open(mode);
    return claimed.release;
  } catch (error) {
    await app.close();
    claimed.release();
    throw new UsageError(`can’t listen on --socket: ${(error as NodeJS.ErrnoException).code}`);
  }
}

export function refusedPort(
  flag: '--port' | '--metrics-port',
  port: number,
  error: NodeJS.ErrnoException,
): UsageError {
  if (error.code === 'EADDRINUSE') return new UsageError(`${flag} ${port} is in use`);
  return new UsageError(`can’t listen on ${flag.replace('port', 'host')}: ${error.code}`);
}

export function urlOf(app: Listener, { host, socket }: ServeConfig, encrypted: boolean): string {
  if (socket !== null) return `unix:${resolve(socket)}`;
  const { port } = app.server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return `${encrypted ? 'https' : 'http'}://${shown}:${port}`;
}

/** The operator's public URL, or else localhost, because browsers don't create passkeys for an IP address. */
export function dashboardUrlOf(url: string, config: ServeConfig): string {
  const [named] = config['public-url'];
  if (named !== undefined) return new URL(named).origin;
  if (config.socket !== null) return 'http://localhost';
  return url.replace(/\/\/(127\.0\.0\.1|\[::1\]):/, '//localhost:');
}

/** The address of the dashboard, if it is known before the service listens: for links in messages. */
export function linkedDashboard(config: ServeConfig, encrypted: boolean): string | null {
  const { 'public-url': named, host, port, socket } = config;
  if (named.length === 0 && (socket !== null || port === 0 || !isThisMachine(host))) return null;
  return dashboardUrlOf(`${encrypted ? 'https' : 'http'}://localhost:${port}`, config);
}
