/** Which read of the vault a request in Vault's dialect is, and how its answer is written. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { depthIn, readOf, tokenFactsOf } from '../src/http/dialect/access-key-reads.ts';
import { targetOf } from '../src/http/dialect/target.ts';

const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
const created = 0x0199a3c47f00;
const read = (path: string) => {
  const url = `/vault/v1/${path}`;
  return readOf(targetOf(url), url, 'token', () => created + 1_000);
};
const item = (nameOrId: string, fields: string) => ({
  of: 'item',
  kind: 'secret',
  nameOrId,
  fields,
  versioned: true,
});
const names = { of: 'kind', kind: 'secret', fields: 'names' };
const own = { of: 'access-key' };

/** The data of the answer, written from what the vault read gives. */
function written(path: string, answer: unknown): unknown {
  return JSON.parse(String(read(path).encoding!.encode(Buffer.from(JSON.stringify(answer))))).data;
}

describe('a read in the dialect', () => {
  const rows: [path: string, selection: object, encoding: string][] = [
    ['secret/data/a', item('a', 'value'), 'vault-data 0'],
    ['secret/data/a?version=3', item('a', 'value'), 'vault-data 3'],
    ['secret/data/e%CC%81', item('\u00e9', 'value'), 'vault-data 0'],
    ['secret/data/_all', { of: 'values', format: 'map' }, 'vault-all'],
    ['secret/metadata/_all', item('_all', 'metadata'), 'vault-metadata'],
    ['secret/subkeys/_all', item('_all', 'value'), 'vault-subkeys 0 0'],
    ['secret/subkeys/a?version=2&depth=3', item('a', 'value'), 'vault-subkeys 2 3'],
    ['secret/metadata/a', item('a', 'metadata'), 'vault-metadata'],
    ['secret/metadata/a?list=true', names, 'vault-list "a"'],
    ['secret/metadata?list=true', names, 'vault-list ""'],
    ['secret/config', own, 'vault-config'],
    ['sys/internal/ui/mounts/secret', own, 'vault-mount'],
    ['auth/token/lookup-self', own, 'vault-lookup-self'],
  ];
  for (const [path, selection, encoding] of rows)
    it(`of ${path} is ${JSON.stringify(selection)}`, () => {
      const found = read(path);
      assert.deepEqual([found.vaultId, found.selection, found.encoding?.name], [null, selection, encoding]);
    });

  it('names a vault by its id, by its name, or not at all', () => {
    assert.deepEqual(
      [read(`${id}/data/a`).vaultId, read(`${id}/data/a`).selection],
      [id, item('a', 'value')],
    );
    const named = read('prod/eu/data/a');
    assert.deepEqual(
      [named.vaultId, named.selection],
      [null, { of: 'named-vault', name: 'prod/eu', selection: item('a', 'value') }],
    );
  });

  const refused: [path: string, refusal: string][] = [
    ['secret/data/', 'NOT_FOUND'],
    ['secret/metadata', 'NOT_FOUND'],
    ['secret/subkeys', 'NOT_FOUND'],
    ['secret/delete/a', 'FORBIDDEN'],
    ['secret/undelete/a', 'FORBIDDEN'],
    ['secret/destroy/a', 'FORBIDDEN'],
    ['secret/destroy/', 'NOT_FOUND'],
    ['secret/data/a?version=x', 'INVALID_REQUEST version must be a whole number'],
    ['secret/subkeys/a?version=x', 'INVALID_REQUEST version must be a whole number'],
    ['secret/subkeys/a?depth=x', 'INVALID_REQUEST depth must be a whole number'],
    ['auth/token/create', 'NOT_FOUND'],
    ['auth/jwt/login', 'NOT_FOUND'],
    ['sys/health', 'NOT_FOUND'],
    ['secret/a', 'NOT_FOUND'],
    ['secret/data/%ff', 'INVALID_REQUEST  the path must be text in UTF-8, percent-encoded'],
  ];
  for (const [path, refusal] of refused)
    it(`of ${path} is refused: ${refusal}`, () => {
      const { selection, encoding, vaultId } = read(path);
      assert.ok(selection instanceof Failure);
      assert.equal(`${selection.code} ${selection.field} ${selection.reason}`.trim(), refusal);
      assert.deepEqual([encoding, vaultId], [null, null]);
    });
  it('that is refused still names its vault, for the log', () =>
    assert.equal(read(`${id}/data/`).vaultId, id));

  const depths: [query: string, depth: number | null][] = [
    ['', 0],
    ['?depth=0', 0],
    ['?depth=999', 999],
    ['?depth=1000', null],
    ['?depth=', null],
    ['?depth=-1', null],
  ];
  for (const [query, depth] of depths)
    it(`${query || 'without a query'} goes down to ${depth}`, () => {
      const act = () => depthIn(`/vault/v1/secret/subkeys/a${query}`);
      if (depth === null) assert.throws(act, { field: 'depth', reason: 'must be a whole number' });
      else assert.equal(act(), depth);
    });
});

describe('an answer to a read in the dialect', () => {
  const secret = {
    name: 'a',
    value: '{"user":{"name":"x"}}',
    content_type: 'application/json',
    tags: {},
    version: 4,
    version_created_at: 'now',
    created_at: 'first',
    updated_at: 'last',
  };
  const metadata = {
    created_time: 'now',
    custom_metadata: null,
    deletion_time: '',
    destroyed: false,
    version: 4,
  };

  it('shows a secret that is current, and none that was replaced', () => {
    const expected = { data: { user: { name: 'x' } }, metadata };
    for (const version of ['', '?version=0', '?version=4'])
      assert.deepEqual(written(`secret/data/a${version}`, secret), expected);
    for (const verb of ['data', 'subkeys'])
      for (const version of [3, 5])
        assert.throws(() => written(`secret/${verb}/a?version=${version}`, secret), { code: 'NOT_FOUND' });
  });

  it('shows the members of a secret without their values, as deep as is asked', () => {
    assert.deepEqual(written('secret/subkeys/a', secret), { metadata, subkeys: { user: { name: null } } });
    assert.deepEqual(written('secret/subkeys/a?depth=1&version=4', secret), {
      metadata,
      subkeys: { user: null },
    });
  });

  it('shows a history of one version', () => {
    const { versions, current_version, created_time } = written('secret/metadata/a', secret) as Record<
      string,
      unknown
    >;
    assert.deepEqual([current_version, created_time], [4, 'first']);
    assert.deepEqual(versions, { 4: { created_time: 'now', deletion_time: '', destroyed: false } });
  });

  it('lists names in a folder, in the form in which names are kept', () => {
    const secrets = ['a', 'caf\u00e9/x'].map(name => ({ name }));
    assert.deepEqual(written('secret/metadata?list=1', { secrets }), { keys: ['a', 'caf\u00e9/'] });
    assert.deepEqual(written('secret/metadata/cafe%CC%81?list=1', { secrets }), { keys: ['x'] });
  });

  it('shows all secrets without a version of their own', () => {
    assert.deepEqual(written('secret/data/_all', { a: 'b' }), {
      data: { a: 'b' },
      metadata: { ...metadata, version: 1, created_time: '1970-01-01T00:00:00.000Z' },
    });
    assert.deepEqual(written('secret/config', {}), {
      cas_required: false,
      delete_version_after: '0s',
      max_versions: 0,
    });
  });

  const accessKey = {
    id,
    name: 'ci',
    max_uses: 2,
    expiration_date: new Date(created + 61_000).toISOString(),
  };
  const answer = { vault: { id, name: 'prod/eu' }, access_key: accessKey };
  const mounts: [path: string, mount: string | null][] = [
    ['secret', 'secret/'],
    ['secret/data/a', 'secret/'],
    ['prod/eu', 'prod/eu/'],
    ['prod/eu/data/a', 'prod/eu/'],
    [`${id}/data`, `${id}/`],
    ['prod', null],
    ['prod/europe', null],
    ['secrets', null],
  ];
  for (const [path, mount] of mounts)
    it(`of the mount ${path} is ${mount}`, () => {
      const act = () => written(`sys/internal/ui/mounts/${path}`, answer) as { path: string };
      if (mount === null) assert.throws(act, { code: 'FORBIDDEN' });
      else assert.equal(act().path, mount);
    });

  it('tells an access key of itself', () => {
    const told = written('auth/token/lookup-self', answer) as Record<string, unknown>;
    assert.deepEqual(
      [told.id, told.accessor, told.ttl, told.num_uses, told.orphan],
      ['token', id, 60, 2, true],
    );
    assert.deepEqual(
      tokenFactsOf({ ...answer, access_key: { ...accessKey, max_uses: null, expiration_date: null } }),
      {
        id,
        name: 'ci',
        expiresAt: null,
        maxUses: null,
        isChild: false,
      },
    );
  });
});
