/** Which addresses are public, which ranges hold an address, and where a URL may lead: the decisions by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addressSet, isCidr, plainAddress } from '../src/access/address.ts';
import { egressInto, hostOf, isLocalhost, isPublicAddress } from '../src/access/egress.ts';

describe('an address', () => {
  const plain: [address: string, plain: string][] = [
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:10.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['1::ffff:10.0.0.1', '1::ffff:10.0.0.1'],
    ['', ''],
  ];
  for (const [address, expected] of plain)
    it(`${address || 'of nobody'} is called ${expected || 'nothing'}`, () =>
      assert.equal(plainAddress(address), expected));

  /** The first and the last of each range that is not public, and their neighbours. */
  const edges: [before: string | null, first: string, last: string, after: string | null][] = [
    [null, '0.0.0.0', '0.255.255.255', '1.0.0.0'],
    ['9.255.255.255', '10.0.0.0', '10.255.255.255', '11.0.0.0'],
    ['100.63.255.255', '100.64.0.0', '100.127.255.255', '100.128.0.0'],
    ['126.255.255.255', '127.0.0.0', '127.255.255.255', '128.0.0.0'],
    ['169.253.255.255', '169.254.0.0', '169.254.255.255', '169.255.0.0'],
    ['172.15.255.255', '172.16.0.0', '172.31.255.255', '172.32.0.0'],
    ['191.255.255.255', '192.0.0.0', '192.0.0.255', '192.0.1.0'],
    ['192.0.1.255', '192.0.2.0', '192.0.2.255', '192.0.3.0'],
    ['192.88.98.255', '192.88.99.0', '192.88.99.255', '192.88.100.0'],
    ['192.167.255.255', '192.168.0.0', '192.168.255.255', '192.169.0.0'],
    ['198.17.255.255', '198.18.0.0', '198.19.255.255', '198.20.0.0'],
    ['198.51.99.255', '198.51.100.0', '198.51.100.255', '198.51.101.0'],
    ['203.0.112.255', '203.0.113.0', '203.0.113.255', '203.0.114.0'],
    ['223.255.255.255', '224.0.0.0', '255.255.255.255', null],
    [null, '::', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2000::'],
    ['2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001::', '2001:1ff:ffff::', '2001:200::'],
    ['2001:db7:ffff::', '2001:db8::', '2001:db8:ffff::', '2001:db9::'],
    ['2001:ffff::', '2002::', '2002:ffff::', '2003::'],
    ['3ffe:ffff::', '3fff::', '3fff:fff::', '3fff:1000::'],
    ['3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '4000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', null],
  ];
  for (const [before, first, last, after] of edges)
    it(`from ${first} to ${last} is not public, and beside it is`, () => {
      for (const inner of [first, last]) assert.equal(isPublicAddress(inner), false, inner);
      for (const outer of [before, after])
        if (outer !== null) assert.equal(isPublicAddress(outer), true, outer);
    });

  it('in IPv6 that names one in IPv4 is as public as that; what is no address is not', () => {
    assert.equal(isPublicAddress('::ffff:8.8.8.8'), true);
    assert.equal(isPublicAddress('::ffff:127.0.0.1'), false);
    for (const form of ['::ffff:7f00:1', '64:ff9b::8.8.8.8', '::8.8.8.8', 'example.com', '', '8.8.8'])
      assert.equal(isPublicAddress(form), false, form);
  });
});

describe('a range', () => {
  const ranges: [text: string, isOne: boolean][] = [
    ['0.0.0.0/0', true],
    ['10.0.0.0/32', true],
    ['10.0.0.0/33', false],
    ['10.0.0.0/128', false],
    ['::/0', true],
    ['::/128', true],
    ['::/129', false],
    ['::ffff:10.0.0.0/104', true],
    ['10.0.0.0', false],
    ['10.0.0.0/', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.0/8/', false],
    ['10.0.0.0/0008', false],
    ['10.0.0.0/-1', false],
    ['10.0.0.0/1e1', false],
    ['10.0.0/8', false],
    ['/8', false],
    ['', false],
  ];
  for (const [text, isOne] of ranges)
    it(`is ${isOne ? '' : 'not '}${JSON.stringify(text)}`, () => assert.equal(isCidr(text), isOne));

  const members: [range: string, address: string, isIn: boolean][] = [
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '::ffff:10.0.0.1', true],
    ['10.0.0.0/8', '::FFFF:a00:1', true],
    ['10.0.0.0/8', '::ffff:11.0.0.1', false],
    ['10.0.0.0/8', '::10.0.0.1', false],
    ['10.0.0.0/8', '::1', false],
    ['2001:db8::/32', '2001:db8:ffff::', true],
    ['2001:db8::/32', '2001:db9::', false],
    ['2001:db8::/32', '32.1.13.184', false],
    ['::/0', '::1', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.0.0.0', false],
    ['::ffff:10.0.0.0/104', '::ffff:10.1.2.3', true],
    ['::ffff:10.1.2.3/128', '10.1.2.3', true],
    ['::ffff:10.1.2.3/128', '10.1.2.4', false],
    ['::ffff:a00:0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/96', '11.0.0.0', true],
    ['::ffff:10.0.0.0/96', '::1', false],
    // Wider than all of IPv4: a range of IPv6, of which the IPv4 addresses that are written so are a part.
    ['::ffff:10.0.0.0/95', '::fffe:0:1', true],
    ['::ffff:10.0.0.0/95', '::fffd:0:1', false],
    ['0.0.0.0/0', '', false],
    ['0.0.0.0/0', 'example.com', false],
    ['0.0.0.0/0', '10.0.0.1, 10.0.0.2', false],
  ];
  for (const [range, address, isIn] of members)
    it(`${range} ${isIn ? 'holds' : 'does not hold'} ${JSON.stringify(address)}`, () => {
      assert.equal(addressSet([range])(address), isIn);
      assert.equal(addressSet(['192.0.2.1/32', range])(address), isIn, 'beside another');
    });
  it('that is not there holds nothing', () => assert.equal(addressSet([])('10.0.0.1'), false));
});

describe('a URL', () => {
  const inner = ['10.0.0.0/8', '127.0.0.0/8'];
  const encrypted = 'must begin with https://';
  const publicly = 'must lead to a public address';
  const port = 'must not name a port that belongs to another protocol';
  const person = 'must not contain a user name or a password';
  const urls: [url: string, closed: string | null, opened: string | null][] = [
    ['https://example.com/', null, null],
    ['https://example.com:8443/', null, null],
    ['http://example.com/', encrypted, null],
    ['ftp://example.com/', encrypted, encrypted],
    ['https://me@example.com/', person, person],
    ['https://:word@example.com/', person, person],
    ['https://example.com:22/', port, port],
    ['https://example.com:0/', port, port],
    ['https://8.8.8.8/', null, null],
    ['http://8.8.8.8/', encrypted, publicly],
    ['https://10.0.0.1/', publicly, null],
    ['http://10.0.0.1/', encrypted, null],
    ['https://192.168.0.1/', publicly, publicly],
    ['https://[2600::1]/', null, null],
    ['https://[::1]/', publicly, publicly],
    ['https://[::ffff:10.0.0.1]/', publicly, null],
    ['https://localhost/', publicly, null],
    ['http://localhost/', encrypted, null],
    ['https://a.localhost./', publicly, null],
    ['https://notlocalhost/', null, null],
  ];
  for (const [url, closed, opened] of urls)
    it(`${url} ${closed ?? 'may be sent to'}; with an inner range opened it ${opened ?? 'may'}`, () => {
      assert.equal(egressInto([]).refusalOf(new URL(url)), closed);
      assert.equal(egressInto(inner).refusalOf(new URL(url)), opened);
    });

  it('of localhost may be sent to where either of its addresses was opened', () => {
    assert.equal(egressInto(['::1/128']).refusalOf(new URL('https://localhost/')), null);
    assert.equal(egressInto(['10.0.0.0/8']).refusalOf(new URL('https://localhost/')), publicly);
  });

  it('leads to public addresses if it is encrypted, and to opened ones in any case', () => {
    const { permits } = egressInto(inner);
    const asked = ['8.8.8.8', '10.0.0.1', '192.168.0.1'];
    assert.deepEqual(
      asked.map(address => permits(address, true)),
      [true, true, false],
    );
    assert.deepEqual(
      asked.map(address => permits(address, false)),
      [false, true, false],
    );
  });

  it('names its host without brackets', () => {
    assert.equal(hostOf(new URL('https://[::1]:1/')), '::1');
    assert.equal(hostOf(new URL('https://example.com:1/')), 'example.com');
  });

  const hosts: [host: string, isLocal: boolean][] = [
    ['localhost', true],
    ['LOCALHOST.', true],
    ['a.b.localhost', true],
    ['localhost.example.com', false],
    ['mylocalhost', false],
    ['localhost..', false],
  ];
  for (const [host, isLocal] of hosts)
    it(`${isLocal ? 'knows' : 'does not know'} ${host} as this machine`, () =>
      assert.equal(isLocalhost(host), isLocal));
});
