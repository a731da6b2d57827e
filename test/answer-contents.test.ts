/** What an answer gives to which access key, and that its log says the same: names alone, values, or one half of a key. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Reader, ResourceKind } from '../src/access/caller.ts';
import type { Parts } from '../src/domain/kernel/parts.ts';
import type { VaultAnswer } from '../src/domain/reads/answer-cache.ts';
import type { KeptAnswers } from '../src/domain/reads/kept-answers.ts';
import { toolAnswersWith } from '../src/domain/reads/tool-answers.ts';
import { vaultAnswersWith } from '../src/domain/reads/vault-answers.ts';
import type { Fields } from '../src/domain/reads/vault-request.ts';
import type { VerifiedResource, Visibility } from '../src/domain/reads/visibility.ts';
import type { Records } from '../src/domain/resources/records.ts';

const row = (type: ResourceKind, id: string, name: string, more: object = {}) =>
  ({
    type,
    id,
    name,
    attributes: '{}',
    version: 3,
    created_at: 0,
    updated_at: 1_000,
    ...more,
  }) as VerifiedResource;
const attributes = JSON.stringify({
  holds: 'private',
  exportable: true,
  key_type: 'EC',
  key_size: 256,
  public_pem: 'half',
});
const secret = row('secret', 's', 'S', { vault_id: 'v' });
const key = row('key', 'k', 'K', { attributes, vault_id: 'v', activation_date: null, expiration_date: null });
const old = row('key', 'o', 'O', { attributes });
const certificate = row('certificate', 'c', 'C');
const oldCertificate = row('certificate', 'd', 'D');
const turns = { pause: () => undefined, resume: async () => {} };

function world(stored = [secret]) {
  const rows = [...stored, key, old, certificate, oldCertificate];
  const expired = new Set([old, oldCertificate]);
  const ends: Record<string, number> = { secret: 30, key: 20, certificate: 10 };
  const looked: (readonly ResourceKind[])[] = [];
  const refused: VerifiedResource[] = [];
  const found = (fits: (one: VerifiedResource) => boolean) => rows.find(fits)!;
  const visibility = {
    openVault: async () => ({ row: { id: 'v', name: 'V' } }),
    look: async (reader: Reader, vault: unknown, kinds: readonly ResourceKind[]) => {
      looked.push(kinds);
      return { reader, vault };
    },
    list: async (
      _: unknown,
      kind: string,
      present: (row: VerifiedResource, expired: boolean) => unknown,
    ) => ({
      items: rows.filter(({ type }) => type === kind).map(one => present(one, expired.has(one))),
      validUntil: ends[kind],
    }),
    byId: async (_: Reader, id: string) => found(one => one.id === id),
    byName: async (_: Reader, type: string, name: string) =>
      found(one => one.type === type && one.name === name),
    refuseInactive: (one: VerifiedResource) => refused.push(one),
    validUntil: () => 7,
    opened: async ({ value, name }: VerifiedResource) => ({
      value: value ?? `value-of-${name}`,
      values: [],
      validUntil: 7,
    }),
    present: {
      value: ({ value, name }: VerifiedResource) => value ?? `value-of-${name}`,
      secret: ({ name }: VerifiedResource) => ({ secret: name }),
      key: ({ name }: VerifiedResource) => ({ key: name, type: 'private' }),
      certificate: ({ name }: VerifiedResource) => ({ certificate: name }),
      listed: (reader: Reader, { name }: VerifiedResource) => ({ listed: name, namesOnly: reader.namesOnly }),
      pem: ({ name }: VerifiedResource) => `pem of ${name}`,
      stub: ({ name }: VerifiedResource) => ({ stub: name }),
    },
  } as unknown as Visibility;
  const kept = { answer: (_: unknown, _key: string, make: () => Promise<VaultAnswer>) => make() };
  const store = {
    resources: {
      version: async (id: string) => (id === 's' ? { created_at: 500 } : undefined),
      byId: async (organization: string, id: string) =>
        organization === 'organization' ? rows.find(one => one.id === id) : undefined,
      vault: async (id: string) => (id === 'v' ? { id } : undefined),
    },
  };
  const stamps = { believeVersion: (one: unknown) => one, resource: { believe: (one: unknown) => one } };
  const records = { openLabels: () => ({ tags: { t: '1' } }) } as unknown as Records;
  return {
    looked,
    refused,
    vault: vaultAnswersWith(visibility, kept as unknown as KeptAnswers),
    tools: toolAnswersWith({ store, stamps } as unknown as Parts, records, visibility),
  };
}

const reader = {
  id: 'a',
  name: 'A',
  kinds: null,
  names: [],
  namesOnly: false,
  mayUse: false,
  cidrs: null,
  rateLimit: null,
  maxUses: null,
  expirationDate: null,
  narrowing: null,
} as unknown as Reader;
const namesReader: Reader = { ...reader, namesOnly: true };
const refusedNames = { code: 'FORBIDDEN', because: 'names_only' };

async function given(answer: Promise<VaultAnswer>) {
  const { body, requested, format, validUntil } = await answer;
  return [format === 'json' ? JSON.parse(body.toString()) : body.toString(), requested, format, validUntil];
}

describe('a vault as it is read', () => {
  const name = { id: 's', name: 'S' };
  const listed = (namesOnly: boolean) => ({
    keys: [{ listed: 'K', namesOnly }, { stub: 'O' }],
    certificates: [{ listed: 'C', namesOnly }, { stub: 'D' }],
  });

  it('has what is asked for, and is true as long as all of it', async () => {
    const cases: [Reader, [names: boolean, keys: boolean, certificates: boolean], object, string, number][] =
      [
        [reader, [false, false, false], { secrets: [{ secret: 'S' }] }, 'secrets', 30],
        [reader, [true, false, false], { secrets: [name] }, 'secrets=names', 30],
        [namesReader, [false, false, false], { secrets: [name] }, 'secrets=names', 30],
        [
          reader,
          [false, true, false],
          { secrets: [{ secret: 'S' }], keys: listed(false).keys },
          'secrets,keys',
          20,
        ],
        [
          namesReader,
          [false, false, true],
          { secrets: [name], certificates: listed(true).certificates },
          'secrets=names,certificates',
          10,
        ],
        [
          reader,
          [false, true, true],
          { secrets: [{ secret: 'S' }], ...listed(false) },
          'secrets,keys,certificates',
          10,
        ],
      ];
    for (const [who, [namesOnly, keys, certificates], body, requested, validUntil] of cases) {
      const { vault, looked } = world();
      const answer = vault.vault(who, { of: 'vault', namesOnly, keys, certificates }, turns);
      assert.deepEqual(await given(answer), [{ id: 'v', name: 'V', ...body }, requested, 'json', validUntil]);
      assert.deepEqual(looked, [
        ['secret', ...(keys ? ['key'] : []), ...(certificates ? ['certificate'] : [])],
      ]);
    }
  });

  it('gives one resource, and none to a key that sees names alone', async () => {
    const { vault } = world();
    assert.deepEqual(await given(vault.resource(reader, 's')), [
      { secret: 'S' },
      'secret=value S',
      'json',
      7,
    ]);
    assert.deepEqual(await given(vault.resource(reader, 'k')), ['pem of K', 'key=private K', 'pem', 7]);
    assert.deepEqual(await given(vault.resource(reader, 'c')), ['pem of C', 'certificate C', 'pem', 7]);
    for (const id of ['s', 'k', 'c']) await assert.rejects(vault.resource(namesReader, id), refusedNames);
  });

  it('gives values, and none to a key that sees names alone', async () => {
    const { vault } = world([secret, row('secret', 't', 'T')]);
    const map = { S: 'value-of-S', T: 'value-of-T' };
    assert.deepEqual(await given(vault.values(reader, 'map', turns)), [map, 'format=map', 'json', 30]);
    const [text, ...rest] = await given(vault.values(reader, 'env', turns));
    assert.deepEqual(rest, ['format=env', 'text', 30]);
    assert.equal(text, 'S=value-of-S\nT=value-of-T\n');
    for (const format of ['map', 'env'] as const)
      await assert.rejects(vault.values(namesReader, format, turns), refusedNames);
  });

  it('has no form for the environment where a name changes what runs, or a value can’t be written', async () => {
    for (const [other, reason] of [
      [row('secret', 't', 'LD_PRELOAD'), /LD_PRELOAD would change what a program runs/],
      [{ ...secret, value: 'a\n\'b"`' }, /S can’t be written/],
    ] as const) {
      const { vault } = world([other as unknown as VerifiedResource]);
      await assert.rejects(vault.values(reader, 'env', turns), { field: 'format', reason });
      await vault.values(reader, 'map', turns);
    }
  });
});

describe('what a tool is given', () => {
  const name = { id: 's', name: 'S' };
  const metadata = { ...name, content_type: 'text/plain', tags: { t: '1' } };

  it('is one kind, as far as it was asked for', async () => {
    const { tools } = world();
    const rows: [Reader, ResourceKind, Fields, unknown[], string][] = [
      [reader, 'secret', 'names', [name], 'secrets=names'],
      [reader, 'secret', 'metadata', [metadata], 'secrets=metadata'],
      [reader, 'secret', 'value', [{ secret: 'S' }], 'secrets'],
      [namesReader, 'secret', 'names', [name], 'secrets=names'],
      [namesReader, 'secret', 'value', [name], 'secrets=names'],
      [reader, 'key', 'metadata', [{ listed: 'K', namesOnly: false }, { stub: 'O' }], 'keys'],
      [namesReader, 'key', 'metadata', [{ listed: 'K', namesOnly: true }, { stub: 'O' }], 'keys'],
    ];
    for (const [who, kind, fields, items, requested] of rows) {
      const [body, ...rest] = await given(tools.kind(who, { of: 'kind', kind, fields }, turns));
      assert.deepEqual(body, { vault: { id: 'v', name: 'V' }, [`${kind}s`]: items });
      assert.deepEqual(rest, [requested, 'json', kind === 'secret' ? 30 : 20]);
    }
    await assert.rejects(
      tools.kind(namesReader, { of: 'kind', kind: 'secret', fields: 'metadata' }, turns),
      refusedNames,
    );
  });

  it('is one resource, as far as it was asked for', async () => {
    const typed = row('secret', 't', 'T', { content_type: 'text/x' });
    const { tools } = world([secret, typed]);
    const rows: [Reader, ResourceKind, string, Fields, object | null, string?][] = [
      [reader, 'secret', 'S', 'metadata', metadata, 'secret=metadata S'],
      [
        reader,
        'secret',
        'T',
        'metadata',
        { ...metadata, id: 't', name: 'T', content_type: 'text/x' },
        'secret=metadata T',
      ],
      [reader, 'secret', 'S', 'value', { secret: 'S' }, 'secret=value S'],
      [namesReader, 'secret', 'S', 'metadata', name, 'secret=metadata S'],
      [namesReader, 'secret', 'S', 'value', null],
      [namesReader, 'key', 'k', 'public-half', null],
      [namesReader, 'certificate', 'c', 'metadata', null],
      [reader, 'key', 'k', 'public-half', { key: 'K', type: 'public', pem: 'half' }, 'key=public K'],
      [reader, 'key', 'k', 'value', { key: 'K', type: 'private', pem: 'pem of K' }, 'key=private K'],
      [reader, 'certificate', 'c', 'value', { certificate: 'C', pem: 'pem of C' }, 'certificate C'],
    ];
    for (const [who, kind, nameOrId, fields, body, requested] of rows) {
      const answer = tools.item(who, { of: 'item', kind, nameOrId, fields });
      if (body === null) await assert.rejects(answer, refusedNames);
      else assert.deepEqual(await given(answer), [body, requested, 'json', 7]);
    }
  });

  it('has its version where that is asked for', async () => {
    const { tools } = world([secret, row('secret', 't', 'T')]);
    const versioned = { of: 'item', kind: 'secret', fields: 'value', versioned: true } as const;
    const [body] = await given(tools.item(reader, { ...versioned, nameOrId: 'S' }));
    assert.deepEqual(body, {
      secret: 'S',
      version: 3,
      version_created_at: '1970-01-01T00:00:00.500Z',
      created_at: '1970-01-01T00:00:00.000Z',
      updated_at: '1970-01-01T00:00:01.000Z',
    });
    await assert.rejects(tools.item(reader, { ...versioned, nameOrId: 'T' }), { code: 'NOT_FOUND' });
  });

  it('is the access key’s own limits', async () => {
    const { tools } = world();
    const shown = async (change: Partial<Reader>) =>
      (await given(tools.accessKey({ ...reader, ...change })))[0].access_key;
    const own = await shown({});
    assert.deepEqual(
      [own.kinds, own.names, 'restrictions' in own],
      [['secret', 'key', 'certificate'], ['*'], false],
    );
    const narrowing = { id: 'n', restrictions: { names_only: true } } as unknown as Reader['narrowing'];
    const narrow = await shown({ kinds: ['key'], names: [['A*'], ['B']], narrowing });
    assert.deepEqual(
      [narrow.kinds, narrow.names, narrow.restrictions],
      [['key'], ['A*'], { names_only: true }],
    );
    assert.equal(narrow.id, 'a', 'and not that of its restrictions');
    assert.equal(await tools.vaultName(reader), 'V');
  });

  it('is the public half for a public token, of a key that is there', async () => {
    const { tools, refused } = world();
    const [body, ...rest] = await given(tools.publicHalf('organization', 'k'));
    assert.deepEqual([body.type, body.pem, ...rest], ['public', 'half', 'key=public K', 'json', 0]);
    assert.deepEqual(refused, [key], 'it was asked whether it is active');
    for (const [organization, id] of [
      ['organization', 'nothing'],
      ['organization', 'o'],
      ['organization', 's'],
      ['other', 'k'],
    ] as const)
      await assert.rejects(tools.publicHalf(organization, id), { code: 'NOT_FOUND' }, id);
  });
});
