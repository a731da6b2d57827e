/** What a connection is spared: the proof of the token that it sent before, and nothing that may have changed since. */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { authenticatorWith } from '../src/domain/credentials/authentication.ts';
import { credentialRecords, idOf, sender } from './credential-memory.ts';

const at = { now: 1_000 };
const identity = { id: 'i', revision: 3, disabled_at: null };

function world(members: object = {}) {
  const { parts, add, rows, state } = credentialRecords();
  const store = { ...parts.store, identities: { anywhere: async () => identity } };
  const stamps = { ...parts.stamps, identity: { believe: <T>(row: T) => row } };
  const holder = {
    member: { id: 'm', role: 'owner', state: 'active', grants: '[]' },
    account: { epoch: 1 },
    groups: [],
  };
  const authenticate = authenticatorWith({
    ...parts,
    store,
    stamps,
    people: { byMember: async () => holder },
    now: () => at.now,
  } as unknown as Parameters<typeof authenticatorWith>[0]);
  const token = add('vault', 1, members);
  add('api', 9, { narrowing: '{"maker":null}' });
  const connection = {};
  const ask = (
    given = token,
    vault: string | null = 'vault',
    address = sender.address,
    from: object = connection,
  ) => authenticate.remembered(from, given, vault, { ...sender, address });
  return { authenticate, token, connection, ask, add, rows, state };
}

/** The same, after a first request on the connection. */
async function proven(members: object = {}) {
  const made = world(members);
  const reader = await made.authenticate.accessKey(made.token, 'vault', sender);
  made.authenticate.remember(made.connection, made.token, reader);
  return { ...made, reader };
}

describe('a connection that sends the same access key again', () => {
  beforeEach(() => {
    at.now = 1_000;
  });

  it('is spared the proof', async () => {
    const { ask, reader } = await proven();
    assert.equal(ask(), reader);
    assert.equal(ask(undefined, null), reader, 'where no vault is named');
  });

  it('is not where it sends another, asks for another vault, or is another connection', async () => {
    const { ask, add } = await proven();
    assert.equal(ask(add('vault', 2)), null);
    assert.equal(ask(undefined, 'other'), null);
    assert.equal(ask(undefined, 'vault', sender.address, {}), null);
    assert.equal(world().ask(), null, 'or sent nothing before');
  });

  const counted: [string, object][] = [
    ['has a rate limit', { narrowing: '{"rate_limit":5}' }],
    ['has a number of uses', { max_uses: 5 }],
  ];
  for (const [what, members] of counted)
    it(`is not where the key ${what}, for then each use counts`, async () => {
      assert.equal((await proven(members)).ask(), null);
    });

  it('is not where the key came by OAuth or ends with an API key, for others decide whether those are valid', async () => {
    const login = { member_id: 'm', epoch: 1 };
    for (const narrowing of [{ grant: 'g', login }, { made_with: [idOf(9)] }])
      assert.equal((await proven({ narrowing: JSON.stringify(narrowing) })).ask(), null);
  });

  it('is not after the record changed, and not at an address outside its networks', async () => {
    const { ask, state } = await proven({ narrowing: '{"cidrs":["192.0.2.0/24"]}' });
    assert.notEqual(ask(), null);
    assert.equal(ask(undefined, 'vault', '198.51.100.1'), null);
    state.tell([idOf(1)]);
    assert.equal(ask(), null);
  });

  it('is not from the moment on at which the key expires', async () => {
    const { ask, reader } = await proven({ expiration_date: 2_000 });
    at.now = 1_999;
    assert.equal(ask(), reader);
    at.now = 2_000;
    assert.equal(ask(), null);
  });

  it('is as long as the identity that the key was issued to is unchanged', async () => {
    const { ask, reader, state } = await proven({ identity_id: 'i', identity_revision: 3 });
    assert.equal(ask(), reader);
    state.tell(['i']);
    assert.equal(ask(), null);
  });
});
