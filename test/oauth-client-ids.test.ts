/** Which ids of OAuth clients are looked up at all. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { oauthClientsWith } from '../src/domain/oauth/clients.ts';
import { Keyring } from '../src/keyring/keyring.ts';

describe('the address of a client’s document', () => {
  const fetched: string[] = [];
  const clients = oauthClientsWith({
    keyring: Keyring.create('deployment'),
    documents: [],
    mayFetch: true,
    now: () => 0,
    fetchDocument: async url => {
      fetched.push(url);
      return { client_id: url, client_name: 'Editor', redirect_uris: ['https://client.example/callback'] };
    },
  });
  const addressOf = (length: number) => `https://client.example/${'a'.repeat(length - 23)}`;

  it('of more than 2,048 characters is not fetched', async () => {
    for (const length of [100, 2_048, 2_049]) await clients.find(addressOf(length));
    assert.deepEqual(
      fetched.map(({ length }) => length),
      [100, 2_048],
    );
  });
});
