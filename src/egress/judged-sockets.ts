/**
 * Sockets to servers that a user chose, for protocols other than HTTP. The address is judged after the name was
 * resolved, and exactly that address is connected to. Where encryption is asked for, the server's certificate is
 * verified for the name.
 */
import { connect, isIP, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectSecurely, type PeerCertificate } from 'node:tls';
import type { Egress } from '../access/egress.ts';
import { AddressRefused, type Resolve } from './connections.ts';

/** A server, and as whom to sign in. */
export interface ServiceTarget {
  readonly host: string;
  readonly port: number;
  /** Empty for a service or a connection without one. */
  readonly database: string;
  readonly username: string;
  readonly password: string;
  readonly encrypted: boolean;
  readonly ca: string | null;
}

export interface SocketParts {
  readonly egress: Egress;
  readonly resolve: Resolve;
}

const patience = 8_000;

/** The address to connect to, which is one of the name's, and permitted. */
export async function permittedAddress(
  { egress, resolve }: SocketParts,
  { host, encrypted }: Pick<ServiceTarget, 'host' | 'encrypted'>,
): Promise<string> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  const permitted = addresses.find(address => egress.permits(address, encrypted));
  if (permitted === undefined) throw new AddressRefused();
  return permitted;
}

/** What Node's TLS needs to verify the server for its name, although an address is connected to. */
export function verifiedTls({ host, ca }: Pick<ServiceTarget, 'host' | 'ca'>) {
  return {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2' as const,
    checkServerIdentity: (_: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === null ? {} : { ca }),
  };
}

/** Connected, and its server verified, before a byte is sent. */
export async function judgedSocket(parts: SocketParts, target: ServiceTarget): Promise<Socket> {
  const host = await permittedAddress(parts, target);
  const place = { host, port: target.port };
  const socket = target.encrypted ? connectSecurely({ ...place, ...verifiedTls(target) }) : connect(place);
  const timer = setTimeout(() => socket.destroy(new Error('no connection in time')), patience);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('the connection was closed')));
      socket.once(target.encrypted ? 'secureConnect' : 'connect', resolve);
    });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
    socket.removeAllListeners();
  }
}
