/** Addresses and ranges. An IPv4 address written as IPv6 is the IPv4 address, here and in every log. */
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

/** A test for membership in any of the ranges. What is no address is in none. */
export function addressSet(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address, bits] = cidr.split('/') as [string, string];
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return address => list.check(address, familyOf(address));
}

/** The list knows IPv4 addresses and ranges that are written as IPv6 for what they are. */
function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
