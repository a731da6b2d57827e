/** One definition of this machine's own addresses, for all that trusts them: the service, its commands and the client. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isThisMachine } from '../src/base/this-machine.ts';
import { connect } from '../src/client/request.ts';
import { isRedirect } from '../src/domain/oauth/redirects.ts';
import { serviceAddress } from '../src/service/settings/options.ts';

const hosts: readonly (readonly [host: string, isOwn: boolean])[] = [
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.9.8.7', true],
  ['[::1]', true],
  ['a.localhost', false],
  ['localhost.', false],
  ['xlocalhost', false],
  ['localhost.example', false],
  ['127.0.0.1.example', false],
  ['128.0.0.1', false],
  ['[::2]', false],
  ['[::ffff:127.0.0.1]', false],
  ['vault.example', false],
];

function accepts(take: () => unknown): boolean {
  try {
    take();
    return true;
  } catch {
    return false;
  }
}

describe('plain HTTP', () => {
  for (const [host, isOwn] of hosts)
    it(`${isOwn ? 'is' : 'is not'} trusted to stay on this machine at ${host}`, () => {
      const url = `http://${host}`;
      assert.deepEqual(
        {
          itself: isThisMachine(new URL(url).hostname),
          client: accepts(() => connect({ url, key: 'sr_vault_x' })),
          redirect: isRedirect(`${url}/`),
          command: accepts(() => serviceAddress.parse(url)),
        },
        { itself: isOwn, client: isOwn, redirect: isOwn, command: isOwn },
      );
    });

  it('is trusted at the address of a socket that has no brackets', () => {
    assert.ok(isThisMachine('::1'));
    assert.ok(!isThisMachine('::'));
  });
});
