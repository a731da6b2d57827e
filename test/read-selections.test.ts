/** What is asked of a vault: which requests have the same answer, and what the log says of each. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceKind } from '../src/access/caller.ts';
import {
  type Fields,
  type PlainSelection,
  requestedOfKind,
  requestedText,
  type Selection,
  selectionKey,
} from '../src/domain/reads/vault-request.ts';

const id = '01999999-9999-7999-8999-999999999999';
const kinds: ResourceKind[] = ['secret', 'key', 'certificate'];
const allFields: Fields[] = ['names', 'metadata', 'public-half', 'value'];
const both = [true, false];

const plain: PlainSelection[] = [
  ...both.flatMap(namesOnly =>
    both.flatMap(keys => both.map(certificates => ({ of: 'vault', namesOnly, keys, certificates }) as const)),
  ),
  ...['map', 'env', 'secret', `value ${id}`, id].map(id => ({ of: 'resource', id }) as const),
  ...(['map', 'env'] as const).map(format => ({ of: 'values', format }) as const),
  ...kinds.flatMap(kind => allFields.map(fields => ({ of: 'kind', kind, fields }) as const)),
  ...kinds.flatMap(kind =>
    allFields.flatMap(fields =>
      ['A', 'B', '+version A', id].flatMap(nameOrId => [
        { of: 'item', kind, fields, nameOrId } as const,
        { of: 'item', kind, fields, nameOrId, versioned: true } as const,
      ]),
    ),
  ),
];
const all: Selection[] = [
  ...plain,
  ...['v', 'v" s', 's'].flatMap(name =>
    plain.map(selection => ({ of: 'named-vault', name, selection }) as const),
  ),
];

describe('what is asked of a vault', () => {
  it('has a key of its own, and the same one each time', () => {
    const keys = all.map(selectionKey);
    assert.equal(new Set(keys).size, all.length);
    assert.deepEqual(
      all.map(selection => selectionKey(structuredClone(selection))),
      keys,
    );
    assert.ok(keys.every(key => typeof key === 'string'));
  });

  it('has no key where the answer is the access key’s own', () => {
    const selection = { of: 'access-key' } as const;
    assert.equal(selectionKey(selection), null);
    assert.equal(selectionKey({ of: 'named-vault', name: 'v', selection }), null);
  });

  const rows: [selection: PlainSelection, text: string][] = [
    [{ of: 'vault', namesOnly: false, keys: false, certificates: false }, 'secrets'],
    [{ of: 'vault', namesOnly: true, keys: false, certificates: false }, 'secrets=names'],
    [{ of: 'vault', namesOnly: false, keys: true, certificates: false }, 'secrets,keys'],
    [{ of: 'vault', namesOnly: false, keys: false, certificates: true }, 'secrets,certificates'],
    [{ of: 'vault', namesOnly: true, keys: true, certificates: true }, 'secrets=names,keys,certificates'],
    [{ of: 'resource', id }, `resource ${id}`],
    [{ of: 'resource', id: 'anything' }, 'resource'],
    [{ of: 'values', format: 'map' }, 'format=map'],
    [{ of: 'values', format: 'env' }, 'format=env'],
    [{ of: 'kind', kind: 'secret', fields: 'value' }, 'secrets'],
    [{ of: 'item', kind: 'key', fields: 'value', nameOrId: id }, `key ${id}`],
    [{ of: 'item', kind: 'secret', fields: 'value', nameOrId: 'anything' }, 'secret'],
    [{ of: 'access-key' }, 'vault'],
  ];
  for (const [selection, text] of rows)
    it(`is in the log as ${text}: ${JSON.stringify(selection)}`, () => {
      assert.equal(requestedText(selection), text);
      assert.equal(requestedText({ of: 'named-vault', name: 'anything', selection }), text);
    });

  it('is in the log by its collection, and says what was given of secrets', () => {
    const texts: [ResourceKind, Fields, string][] = [
      ['secret', 'names', 'secrets=names'],
      ['secret', 'metadata', 'secrets=metadata'],
      ['secret', 'value', 'secrets'],
      ...allFields.map((fields): [ResourceKind, Fields, string] => ['key', fields, 'keys']),
      ...allFields.map((fields): [ResourceKind, Fields, string] => ['certificate', fields, 'certificates']),
    ];
    for (const [kind, fields, text] of texts) assert.equal(requestedOfKind(kind, fields), text);
  });
});
