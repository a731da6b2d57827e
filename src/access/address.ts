/** Addresses and ranges. An IPv4 address written as IPv6 is the IPv4 address, here and in every log. */
import { BlockList, isIP } from 'node:net';

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

export function plainAddress(address: string): string {
  return mapped.exec(address)?.[1] ?? address;
}

export function isCidr(text: string): boolean {
  const [address = '', bits, more] = text.split('/');
  if (more !== undefined || bits === undefined || !/^\d{1,3}$/.test(bits)) return false;
  const family = isIP(address);
  return family !== 0 && Number(bits) <= (family === 4 ? 32 : 128);
}

/** A test for membership in any of the ranges. */
export function addressSet(cidrs: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    const plain = plainAddress(address);
    // Of an IPv4 range written as IPv6 the first 96 bits only say that it is one.
    const asIPv4 = plain !== address && Number(bits) >= 96;
    if (asIPv4) list.addSubnet(plain, Number(bits) - 96, 'ipv4');
    else list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return address => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && list.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
  };
}
