/** Whom the service asks for the addresses of a name: the name servers, and the system for what they don't know. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type NameServers, systemResolve } from '../src/egress/connections.ts';

/** Name servers that give these addresses, or fail with these codes. */
const servers = (four: string | readonly string[], six: string | readonly string[]): NameServers => {
  const give = (given: string | readonly string[]) => async () => {
    if (typeof given === 'string') throw Object.assign(new Error(given), { code: given });
    return [...given];
  };
  return { resolve4: give(four), resolve6: give(six) } as unknown as NameServers;
};
const system = async (name: string) => [`system ${name}`];

describe('the addresses of a name', () => {
  const rows: readonly (readonly [
    string,
    string | readonly string[],
    string | readonly string[],
    readonly string[],
  ])[] = [
    ['a.example', ['192.0.2.1'], ['2001:db8::1'], ['192.0.2.1', '2001:db8::1']],
    ['a.example', ['192.0.2.1'], 'ENODATA', ['192.0.2.1']],
    ['a.example', ['192.0.2.1'], 'ETIMEOUT', ['192.0.2.1']],
    ['a.example', 'ENOTFOUND', ['2001:db8::1'], ['2001:db8::1']],
    ['a.example', 'ENOTFOUND', 'ENOTFOUND', ['system a.example']],
    ['a.example', [], [], ['system a.example']],
    ['localhost', ['192.0.2.1'], [], ['system localhost']],
    ['a.localhost', ['192.0.2.1'], [], ['system a.localhost']],
  ];
  for (const [name, four, six, expected] of rows)
    it(`${name}, where the name servers say ${four} and ${six}: ${expected}`, async () =>
      assert.deepEqual(await systemResolve(servers(four, six), system)(name), expected));

  for (const [four, six] of [
    ['ETIMEOUT', 'ETIMEOUT'],
    ['ENOTFOUND', 'ETIMEOUT'],
    ['ETIMEOUT', 'ENOTFOUND'],
  ] as const)
    it(`is not asked of the system where a name server is silent: ${four}, ${six}`, () =>
      assert.rejects(systemResolve(servers(four, six), system)('a.example'), { code: 'ETIMEDOUT' }));
});
