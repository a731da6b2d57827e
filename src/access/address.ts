/** IP addresses and ranges. An IPv4 address written as IPv6 is treated as the IPv4 address, here and in every log. */
import { BlockList, isIP } from 'node:net';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export function plainAddress(address: string): string {
  return mapped.exec(address)?.[1] ?? address;
}

export function isCidr(text: string): boolean {
  const cidr = /^([^/]+)\/(\d{1,3})$/.exec(text);
  if (cidr === null) return false;
  const [, address, bits] = cidr as unknown as [string, string, string];
  const family = isIP(address);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

/** Returns a test for membership in any of the ranges. Text that is not an address is in none. */
export function addressSet(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address, bits] = cidr.split('/') as [string, string];
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return address => list.check(address, familyOf(address));
}

/** The list itself treats IPv4 addresses and ranges written as IPv6 as IPv4. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
