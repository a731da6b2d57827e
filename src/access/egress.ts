/**
 * Determines where the service may connect on behalf of users. Only public addresses are allowed, unless the operator
 * opened a range; unencrypted connections are allowed only into such a range. Pure: names are checked when they are
 * resolved, address by address. In IPv6 only the allocated block is allowed, so every form that embeds an IPv4 address
 * (mapped, NAT64, 6to4, Teredo) is refused.
 */
import { BlockList, isIP } from 'node:net';
import { addressSet, plainAddress } from './address.ts';

const innerIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Within 2000::/3: special assignments including Teredo, documentation, 6to4. */
const innerIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const inner = addressSet([...innerIpv4, ...innerIpv6]);
const handedOut = new BlockList();
handedOut.addSubnet('2000::', 3, 'ipv6');

export function isPublicAddress(address: string): boolean {
  const plain = plainAddress(address);
  if (isIP(plain) === 4) return !inner(plain);
  return handedOut.check(plain, 'ipv6') && !inner(plain);
}

/** Ports of other protocols, which could misinterpret HTTP (WHATWG Fetch, “bad ports”). */
const otherProtocols: ReadonlySet<number> = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104,
  109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515,
  526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049,
  3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
]);

export type Egress = ReturnType<typeof egressInto>;

export function egressInto(opened: readonly string[]) {
  const isOpened = addressSet(opened);
  /** Whether a connection to this address may be made. */
  const permits = (address: string, encrypted: boolean) =>
    isOpened(address) || (encrypted && isPublicAddress(address));

  return {
    permits,
    /** Why nothing may be sent to this URL, or null. A name is checked again when it is resolved. */
    refusalOf: (url: URL): string | null => {
      const encrypted = url.protocol === 'https:';
      if (!encrypted && (url.protocol !== 'http:' || opened.length === 0)) return 'must begin with https://';
      if (url.username !== '' || url.password !== '') return 'must not contain a user name or a password';
      if (url.port !== '' && otherProtocols.has(Number(url.port)))
        return 'must not name a port that belongs to another protocol';
      const reaches = addressesIn(hostOf(url));
      if (reaches === null || reaches.some(address => permits(address, encrypted))) return null;
      return 'must lead to a public address';
    },
  };
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The addresses that a host names literally; null if it needs a DNS lookup. */
function addressesIn(host: string): readonly string[] | null {
  if (isIP(host) !== 0) return [host];
  return isLocalhost(host) ? ['127.0.0.1', '::1'] : null;
}

export function isLocalhost(host: string): boolean {
  return /^(.*\.)?localhost\.?$/i.test(host);
}
