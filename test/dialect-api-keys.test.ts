/** What an API key reads and writes in Vault's dialect: which call of the general API each request becomes. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { Failure, type FailureCode } from '../src/contract/errors.ts';
import type { EarlierContent, NextContent } from '../src/domain/resources/named-secrets.ts';
import { apiKeyCallsWith } from '../src/http/dialect/api-key-calls.ts';
import { errorsOf, statusFor } from '../src/http/dialect/forms.ts';
import { targetOf } from '../src/http/dialect/target.ts';
import type { AppParts } from '../src/http/surface/surface-parts.ts';

const vaultId = '0199a3c4-7f00-7abc-8def-000000000001';
const otherId = '0199a3c4-7f00-7abc-8def-000000000002';
const keyId = '0199a3c4-7f00-7abc-8def-0123456789ab';
const time = '2026-01-01T00:00:00.000Z';
const now = Date.parse(time);
const origin = { address: '192.0.2.1', userAgent: '', requestId: 'request' };
const everywhere: Caller = {
  ...trustedCaller('operator', keyId, 'ci', 'organization', 'request'),
  kind: 'api-key',
};
const within = (...vaultIds: string[]): Caller => ({ ...everywhere, vaultIds });

interface Stored {
  readonly value: string;
  readonly content_type: string;
  readonly tags?: object;
}
interface World {
  readonly secrets?: Record<string, Stored>;
  readonly deleted?: Record<string, number>;
  /** By name. */
  readonly vaults?: Record<string, string>;
  /** Instead of the answer of the call of this name. */
  readonly failing?: Record<string, Error>;
}

/** A double of the domain's secrets by name: it notes what it was asked for, and judges no one. */
function worldOf({ secrets = {}, deleted = {}, vaults = { prod: vaultId }, failing = {} }: World) {
  const calls: unknown[][] = [];
  const note = (name: string, ...given: unknown[]) => {
    calls.push([name, ...given]);
    if (failing[name] !== undefined) throw failing[name];
  };
  const written = { version: 2, version_created_at: time };
  const namedSecrets = {
    vaultNamed: async (_caller: Caller, name: string) => {
      note('vaultNamed', name);
      if (vaults[name] === undefined) throw new Failure('NOT_FOUND');
      return vaults[name];
    },
    checkVault: async (_caller: Caller, id: string) => {
      note('checkVault', id);
      if (id !== vaultId) throw new Failure('NOT_FOUND');
    },
    names: async (_caller: Caller, id: string) => {
      note('names', id);
      return ['a', '\u00e9/x', '\u00e9/y'];
    },
    reveal: async (_caller: Caller, { name }: { name: string }, version: number | null) => {
      note('reveal', name, version);
      const stored = secrets[name];
      if (stored === undefined) throw new Failure('NOT_FOUND');
      return { ...stored, version: version ?? 2, version_created_at: time };
    },
    mayReveal: async (_caller: Caller, { name }: { name: string }) => note('mayReveal', name),
    history: async (_caller: Caller, { name }: { name: string }) => {
      note('history', name);
      return { created_at: time, updated_at: time, tags: {}, versions: [{ version: 2, created_at: time }] };
    },
    deleted: async (_caller: Caller, { name }: { name: string }) => {
      note('deleted', name);
      const version = deleted[name];
      return version === undefined ? null : { version, version_created_at: time, deleted_at: time };
    },
    write: async (
      _caller: Caller,
      place: { vaultId: string; name: string },
      next: NextContent,
      cas?: number,
    ) => {
      const stored = secrets[place.name];
      const before: EarlierContent | null = stored ? { ...stored, value: () => stored.value } : null;
      note('write', place, next(before), cas);
      return written;
    },
    tag: async (_caller: Caller, { name }: { name: string }, tags: object) => note('tag', name, tags),
    remove: async (_caller: Caller, { name }: { name: string }, purge: boolean, isMeant?: unknown) =>
      note('remove', name, purge, meant(isMeant)),
    restore: async (_caller: Caller, { name }: { name: string }, isMeant: unknown) =>
      note('restore', name, meant(isMeant)),
  };
  const revokeItself = async (token: string) => note('revokeItself', token);
  const domain = { namedSecrets, accounts: { loginKeys: { revokeItself } } };
  return { calls, answer: apiKeyCallsWith({ domain, now: () => now } as unknown as AppParts) };
}

/** Which of the first versions are meant; all where none are named. */
function meant(isMeant: unknown): unknown {
  return isMeant === undefined ? 'all' : [1, 2, 3].filter(isMeant as (version: number) => boolean);
}

async function asked(
  target: string,
  world: World = {},
  {
    method = 'GET',
    body,
    caller = within(vaultId),
  }: { method?: string; body?: unknown; caller?: Caller } = {},
) {
  const { calls, answer } = worldOf(world);
  const url = `/vault/v1/${target}`;
  try {
    const { status, data, auth } = await answer(
      { method, url, body, token: 'sr_api_token', origin },
      targetOf(url),
      caller,
    );
    return { status, data: parsed(data), auth: parsed(auth), calls };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { status: statusFor(error), errors: errorsOf(error).errors, field: error.field, calls };
  }
}
const parsed = (text: string | undefined) => (text === undefined ? undefined : JSON.parse(text));
const metadata = (version: number, deletion_time = '') => ({
  created_time: time,
  custom_metadata: null,
  deletion_time,
  destroyed: false,
  version,
});
const unsupported = 'unsupported operation';
const text = { value: 'x', content_type: 'text/plain' };
const json = { value: '{"a":{"b":1},"n":1.0}', content_type: 'application/json' };

describe('an API key in the dialect finds a vault', () => {
  const rows: [mount: string, caller: Caller, calls: unknown[][]][] = [
    ['secret', within(vaultId), [['names', vaultId]]],
    // Not by its own mount where it has many vaults, or all of them: that is a name like any other.
    ['secret', within(vaultId, otherId), [['vaultNamed', 'secret']]],
    ['secret', within(), [['vaultNamed', 'secret']]],
    ['secret', everywhere, [['vaultNamed', 'secret']]],
    ['secret', { ...within(vaultId), scopes: ['secrets:write'] }, [['vaultNamed', 'secret']]],
    [
      'prod',
      within(vaultId),
      [
        ['vaultNamed', 'prod'],
        ['names', vaultId],
      ],
    ],
    [
      'prod',
      within(otherId),
      [
        ['vaultNamed', 'prod'],
        ['names', vaultId],
      ],
    ],
    [otherId, within(vaultId), [['names', otherId]]],
  ];
  for (const [mount, caller, calls] of rows)
    it(`by ${mount}, given ${JSON.stringify(caller.vaultIds)}: ${JSON.stringify(calls)}`, async () => {
      const answer = await asked(`${mount}/metadata?list=true`, {}, { caller });
      assert.deepEqual(answer.calls, calls);
      assert.equal(answer.status, calls.some(([name]) => name === 'names') ? 200 : 404);
    });

  const mounts: [path: string, found: string | null, calls: unknown[][]][] = [
    [
      'prod',
      'prod/',
      [
        ['vaultNamed', 'prod'],
        ['checkVault', vaultId],
      ],
    ],
    ['secret', 'secret/', [['checkVault', vaultId]]],
    [
      'prod/data',
      'prod/',
      [
        ['vaultNamed', 'prod/data'],
        ['vaultNamed', 'prod'],
        ['checkVault', vaultId],
      ],
    ],
    // The longest that is there, and that the caller is given.
    [
      'prod/eu/x',
      'prod/',
      [
        ['vaultNamed', 'prod/eu/x'],
        ['vaultNamed', 'prod/eu'],
        ['checkVault', otherId],
        ['vaultNamed', 'prod'],
        ['checkVault', vaultId],
      ],
    ],
    [
      'other/x',
      null,
      [
        ['vaultNamed', 'other/x'],
        ['vaultNamed', 'other'],
      ],
    ],
    [otherId, null, [['checkVault', otherId]]],
  ];
  for (const [path, found, calls] of mounts)
    it(`and is told of the mount of ${path}: ${found}`, async () => {
      const answer = await asked(`sys/internal/ui/mounts/${path}`, {
        vaults: { prod: vaultId, 'prod/eu': otherId },
      });
      assert.deepEqual([answer.status, answer.data?.path], found === null ? [403, undefined] : [200, found]);
      if (found === null) assert.match(answer.errors![0]!, /^preflight capability check returned 403/);
      assert.deepEqual(answer.calls, calls);
    });

  it('and is told of nothing else than that there is none', async () => {
    const refusals: [error: Error, status: number][] = [
      [new Failure('FORBIDDEN'), 403],
      [new Failure('UNAVAILABLE'), 503],
    ];
    for (const [error, status] of refusals) {
      const answer = await asked('sys/internal/ui/mounts/prod/x', { failing: { vaultNamed: error } });
      assert.deepEqual([answer.status, answer.calls.length], [status, 1]);
      assert.doesNotMatch(String(answer.errors), /preflight/);
    }
    const broken = Object.assign(new Error('broken'), { code: 'NOT_FOUND' });
    await assert.rejects(
      asked('sys/internal/ui/mounts/prod', { failing: { vaultNamed: broken } }),
      /^Error: broken/,
    );
  });
});

describe('an API key in the dialect reads', () => {
  const world = {
    secrets: { a: { ...text, tags: { t: '1' } }, j: json, '\u00e9': text, _all: text },
    deleted: { gone: 2 },
  };
  const reading = { metadata: { ...metadata(2), custom_metadata: { t: '1' } }, data: { value: 'x' } };
  const rows: [target: string, status: number, data: unknown, calls: unknown[][]][] = [
    ['prod/data/a', 200, reading, [['reveal', 'a', null]]],
    [
      'prod/data/a?version=1',
      200,
      { ...reading, metadata: { ...reading.metadata, version: 1 } },
      [['reveal', 'a', 1]],
    ],
    ['prod/data/e%CC%81', 200, { data: { value: 'x' }, metadata: metadata(2) }, [['reveal', '\u00e9', null]]],
    [
      'prod/subkeys/j',
      200,
      { metadata: metadata(2), subkeys: { a: { b: null }, n: null } },
      [['reveal', 'j', null]],
    ],
    [
      'prod/subkeys/j?depth=1&version=3',
      200,
      { metadata: metadata(3), subkeys: { a: null, n: null } },
      [['reveal', 'j', 3]],
    ],
    [
      'prod/config',
      200,
      { cas_required: false, delete_version_after: '0s', max_versions: 0 },
      [['checkVault', vaultId]],
    ],
    ['prod/metadata?list=true', 200, { keys: ['a', '\u00e9/'] }, [['names', vaultId]]],
    ['prod/metadata/e%CC%81?list=true', 200, { keys: ['x', 'y'] }, [['names', vaultId]]],
    // A list of a secret's name is a list, not that secret.
    ['prod/metadata/_all?list=true', 404, undefined, [['names', vaultId]]],
    // What is deleted is said to be, to those who ask for it or for the version that it had.
    [
      'prod/data/gone',
      404,
      { data: null, metadata: metadata(2, time) },
      [
        ['reveal', 'gone', null],
        ['deleted', 'gone'],
      ],
    ],
    [
      'prod/data/gone?version=2',
      404,
      { data: null, metadata: metadata(2, time) },
      [
        ['reveal', 'gone', 2],
        ['deleted', 'gone'],
      ],
    ],
    [
      'prod/data/gone?version=1',
      404,
      undefined,
      [
        ['reveal', 'gone', 1],
        ['deleted', 'gone'],
      ],
    ],
    [
      'prod/data/none',
      404,
      undefined,
      [
        ['reveal', 'none', null],
        ['deleted', 'none'],
      ],
    ],
    [
      'prod/data/none?version=1',
      404,
      undefined,
      [
        ['reveal', 'none', 1],
        ['deleted', 'none'],
      ],
    ],
    ['prod/subkeys/none', 404, undefined, [['reveal', 'none', null]]],
    ['prod/data/', 404, undefined, []],
    ['prod/metadata', 404, undefined, []],
    ['prod/subkeys/', 404, undefined, []],
    ['prod/delete/', 404, undefined, []],
  ];
  for (const [target, status, data, calls] of rows)
    it(`${target}: ${status}`, async () => {
      const answer = await asked(target, world);
      assert.deepEqual([answer.status, answer.data], [status, data]);
      if (data === undefined) assert.deepEqual(answer.errors, []);
      assert.deepEqual(answer.calls.slice(1), calls);
    });

  it('the history of a secret, whatever its name', async () => {
    for (const name of ['a', '_all']) {
      const answer = await asked(`prod/metadata/${name}`, world);
      assert.deepEqual(
        [answer.status, answer.data.current_version, answer.data.versions],
        [200, 2, { 2: { created_time: time, deletion_time: '', destroyed: false } }],
      );
      assert.deepEqual(answer.calls.slice(1), [['history', name]]);
    }
  });

  const refused: [target: string, status: number, errors: string[]][] = [
    ['prod/data/_all', 405, ['use an access key of the vault to read all of its secrets']],
    ['prod/subkeys/_all', 405, ['use an access key of the vault to read all of its secrets']],
    ['prod/delete/a', 405, [unsupported]],
    ['prod/undelete/a', 405, [unsupported]],
    ['prod/destroy/a', 405, [unsupported]],
    ['prod/data/a?version=x', 400, ['version must be a whole number']],
    ['prod/subkeys/a?depth=x', 400, ['depth must be a whole number']],
  ];
  for (const [target, status, errors] of refused)
    it(`not ${target}: ${status}, and reveals nothing for it`, async () => {
      const answer = await asked(target, world);
      assert.deepEqual([answer.status, answer.errors, answer.calls.length], [status, errors, 1]);
    });

  it('nothing of a vault that it is not given, not even its settings', async () => {
    assert.equal((await asked(`${otherId}/config`)).status, 404);
  });

  it('no word of the trash where it may not reveal, or where something went wrong', async () => {
    for (const code of ['FORBIDDEN', 'UNAVAILABLE'] as const) {
      const answer = await asked('prod/data/gone', { ...world, failing: { reveal: new Failure(code) } });
      assert.equal(answer.status, statusFor(new Failure(code)));
      assert.deepEqual(answer.calls.at(-1), ['reveal', 'gone', null]);
    }
    const broken = Object.assign(new Error('broken'), { code: 'NOT_FOUND' });
    await assert.rejects(
      asked('prod/data/gone', { ...world, failing: { reveal: broken } }),
      /^Error: broken/,
    );
  });

  it('as a HEAD too', async () => {
    assert.deepEqual((await asked('prod/data/a', world, { method: 'HEAD' })).data, reading);
  });

  it('nothing where nothing is', async () => {
    assert.deepEqual((await asked('prod/x')).errors, [
      'this is a versioned key/value store (version 2): read {mount}/data/{path}',
    ]);
    const login = await asked('auth/jwt/login');
    assert.deepEqual([login.status, login.errors, login.calls], [404, [], []]);
  });
});

describe('an API key in the dialect, of itself', () => {
  const expires: Caller = { ...everywhere, until: now + 90_000 };
  const of = (call: string, method: string, caller = everywhere) =>
    asked(`auth/token/${call}`, {}, { method, caller });

  it('is told who it is and when it ends', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, data, calls } = await of('lookup-self', method, expires);
      assert.deepEqual([status, calls], [200, []]);
      assert.deepEqual(
        [data.id, data.accessor, data.display_name, data.ttl, data.num_uses, data.orphan],
        ['sr_api_token', keyId, 'ci', 90, 0, true],
      );
    }
  });

  it('is renewed, which changes nothing', async () => {
    const { status, auth, calls } = await of('renew-self', 'POST', expires);
    assert.deepEqual(
      [status, auth.client_token, auth.accessor, auth.lease_duration, calls],
      [200, 'sr_api_token', keyId, 90, []],
    );
  });

  it('revokes itself', async () => {
    const { status, data, auth, calls } = await of('revoke-self', 'PUT');
    assert.deepEqual(
      [status, data, auth, calls],
      [204, undefined, undefined, [['revokeItself', 'sr_api_token']]],
    );
  });

  const refused: [call: string, method: string, status: number, error: string | undefined][] = [
    ['renew-self', 'GET', 404, undefined],
    ['revoke-self', 'GET', 404, undefined],
    ['create', 'HEAD', 404, undefined],
    [
      'create',
      'POST',
      403,
      'an API key can’t create child tokens: set skip_child_token, or use an access key',
    ],
    [
      'lookup-self',
      'POST',
      403,
      'an API key can’t create child tokens: set skip_child_token, or use an access key',
    ],
  ];
  for (const [call, method, status, error] of refused)
    it(`is refused ${method} ${call}: ${status}`, async () => {
      const answer = await of(call, method);
      assert.deepEqual([answer.status, answer.errors![0], answer.calls], [status, error, []]);
    });
});

describe('an API key in the dialect writes', () => {
  const written = { ...metadata(2) };
  const wrote = (name: string, value: string, content_type: string, cas?: number) => [
    'write',
    { vaultId, name },
    { value, content_type },
    cas,
  ];
  const pem = { value: 'x', content_type: 'application/x-pem-file' };
  const secrets = { t: text, j: json, pem, weird: { value: 'x', content_type: 'application/json' } };
  const put: [name: string, data: object, options: unknown, call: unknown[]][] = [
    ['new', { value: 'y' }, undefined, wrote('new', 'y', 'text/plain')],
    ['new', { value: 1 }, undefined, wrote('new', '{"value":1}', 'application/json')],
    ['new', { other: 'y' }, undefined, wrote('new', '{"other":"y"}', 'application/json')],
    [
      'new',
      { value: 'y', more: 'z' },
      undefined,
      wrote('new', '{"value":"y","more":"z"}', 'application/json'),
    ],
    ['new', {}, undefined, wrote('new', '{}', 'application/json')],
    ['t', { value: 'y' }, {}, wrote('t', 'y', 'text/plain')],
    ['pem', { value: 'y' }, { cas: null }, wrote('pem', 'y', 'application/x-pem-file')],
    ['pem', { a: 'y' }, null, wrote('pem', '{"a":"y"}', 'application/json')],
    ['j', { value: 'y' }, { cas: 0 }, wrote('j', 'y', 'text/plain', 0)],
    ['j', { value: 'y' }, { cas: 1_000_000_000 }, wrote('j', 'y', 'text/plain', 1_000_000_000)],
    ['e%CC%81', { value: 'y' }, undefined, wrote('\u00e9', 'y', 'text/plain')],
  ];
  for (const [name, data, options, call] of put)
    for (const method of ['POST', 'PUT'])
      it(`${method} ${name} ${JSON.stringify({ data, options })}`, async () => {
        const answer = await asked(`prod/data/${name}`, { secrets }, { method, body: { data, options } });
        assert.deepEqual([answer.status, answer.data], [200, written]);
        assert.deepEqual(answer.calls.slice(1), [call]);
      });

  const patches: [name: string, data: object, call: unknown[]][] = [
    ['j', { a: { b: null, c: 2 }, n: 3 }, wrote('j', '{"a":{"c":2},"n":3}', 'application/json', 5)],
    ['j', { a: { b: { c: 1 } } }, wrote('j', '{"a":{"b":{"c":1}},"n":1.0}', 'application/json', 5)],
    ['j', { a: [1] }, wrote('j', '{"a":[1],"n":1.0}', 'application/json', 5)],
    ['j', { n: { x: null } }, wrote('j', '{"a":{"b":1},"n":{}}', 'application/json', 5)],
    ['t', { value: 'y' }, wrote('t', 'y', 'text/plain', 5)],
    ['pem', { value: 'y' }, wrote('pem', 'y', 'application/x-pem-file', 5)],
    ['t', { more: 'y' }, wrote('t', '{"value":"x","more":"y"}', 'application/json', 5)],
    ['t', { value: null }, wrote('t', '{}', 'application/json', 5)],
    ['weird', { more: 'y' }, wrote('weird', '{"value":"x","more":"y"}', 'application/json', 5)],
  ];
  for (const [name, data, call] of patches)
    it(`PATCH ${name} ${JSON.stringify(data)}`, async () => {
      const answer = await asked(
        `prod/data/${name}`,
        { secrets },
        { method: 'PATCH', body: { data, options: { cas: 5 } } },
      );
      assert.deepEqual([answer.status, answer.data], [200, written]);
      assert.deepEqual(answer.calls.slice(1), [['mayReveal', name], call]);
    });

  it('no patch of what is not there, and none without the permission to reveal it', async () => {
    const none = await asked('prod/data/none', { secrets }, { method: 'PATCH', body: { data: {} } });
    assert.deepEqual([none.status, none.errors, none.calls.slice(1)], [404, [], [['mayReveal', 'none']]]);
    const failing = { mayReveal: new Failure('FORBIDDEN') };
    const denied = await asked(
      'prod/data/j',
      { secrets, failing },
      { method: 'PATCH', body: { data: 'no map' } },
    );
    assert.deepEqual([denied.status, denied.calls.slice(1)], [403, [['mayReveal', 'j']]]);
  });

  const versions = (...named: unknown[]) => ({ versions: named });
  const changes: [method: string, target: string, body: unknown, calls: unknown[][]][] = [
    ['DELETE', 'data/t', undefined, [['remove', 't', false, 'all']]],
    ['DELETE', 'metadata/t', undefined, [['remove', 't', true, 'all']]],
    ['POST', 'delete/t', versions(2), [['remove', 't', false, [2]]]],
    ['PUT', 'delete/t', versions('2', 3), [['remove', 't', false, [2, 3]]]],
    ['PUT', 'delete/t', { versions: Array(1_000).fill(1) }, [['remove', 't', false, [1]]]],
    ['POST', 'undelete/t', versions(1), [['restore', 't', [1]]]],
    ['PUT', 'undelete/t', versions(1), [['restore', 't', [1]]]],
    [
      'POST',
      'metadata/t',
      { custom_metadata: { a: 'b' }, max_versions: 0, cas_required: false, delete_version_after: '0s' },
      [['tag', 't', { a: 'b' }]],
    ],
    ['PUT', 'metadata/t', { custom_metadata: null }, [['tag', 't', {}]]],
    ['PUT', 'metadata/t', {}, []],
  ];
  for (const [method, target, body, calls] of changes)
    it(`${method} ${target} ${JSON.stringify(body)?.slice(0, 60)}`, async () => {
      const answer = await asked(`prod/${target}`, { secrets }, { method, body });
      assert.deepEqual([answer.status, answer.data], [204, undefined]);
      assert.deepEqual(answer.calls.slice(1), calls);
    });

  const data = { data: { value: 'x' } };
  const refused: [method: string, target: string, body: unknown, status: number, error: string | RegExp][] = [
    ['POST', 'data/', data, 405, unsupported],
    ['DELETE', 'metadata/', undefined, 405, unsupported],
    ['POST', 'data/_all', data, 405, unsupported],
    ['DELETE', 'data/_all', undefined, 405, unsupported],
    ['PATCH', 'metadata/t', {}, 405, unsupported],
    ['DELETE', 'delete/t', undefined, 405, unsupported],
    ['POST', 'subkeys/t', data, 405, unsupported],
    ['PUT', 'config', {}, 405, unsupported],
    [
      'POST',
      'destroy/t',
      versions(1),
      405,
      'a single version can’t be destroyed: DELETE {mount}/metadata/{path} destroys them all',
    ],
    [
      'PUT',
      'destroy/t',
      versions(1),
      405,
      'a single version can’t be destroyed: DELETE {mount}/metadata/{path} destroys them all',
    ],
    ['POST', 'data/t', undefined, 400, /./],
    ['POST', 'data/t', { data: [] }, 400, 'data must be an object'],
    ['POST', 'data/t', { ...data, options: { cas: -1 } }, 400, /^options\.cas /],
    ['POST', 'data/t', { ...data, options: { cas: 1_000_000_001 } }, 400, /^options\.cas /],
    ['POST', 'data/t', { ...data, options: { cas: 1.5 } }, 400, 'options.cas must be a whole number'],
    ['POST', 'delete/t', versions(), 400, /^versions /],
    ['POST', 'delete/t', { versions: Array(1_001).fill(1) }, 400, /^versions /],
    ['POST', 'delete/t', {}, 400, 'versions is required'],
    ['POST', 'delete/t', { versions: 1 }, 400, 'versions must be an array'],
    ['POST', 'undelete/t', versions('x'), 400, /^versions\.0 /],
    ['PUT', 'metadata/t', { max_versions: 1 }, 400, 'max_versions must be 0: all versions are kept'],
    ['PUT', 'metadata/t', { cas_required: true }, 400, 'cas_required must be false'],
    [
      'PUT',
      'metadata/t',
      { delete_version_after: '1h' },
      400,
      'delete_version_after must be 0s: versions are kept',
    ],
    // By what the general API takes: of the name it is said that it is the path.
    ['POST', 'data/a%07b', data, 400, /^path /],
    ['PATCH', 'data/t', { data: { value: 'x'.repeat(65_537) } }, 400, /^value /],
    ['POST', 'data/t', { data: { value: 'x'.repeat(65_537) } }, 400, /^value /],
  ];
  for (const [method, target, body, status, error] of refused)
    it(`not ${method} ${target} ${JSON.stringify(body)?.slice(0, 60)}: ${status}`, async () => {
      const answer = await asked(`prod/${target}`, { secrets }, { method, body });
      assert.equal(answer.status, status);
      if (typeof error === 'string') assert.deepEqual(answer.errors, [error]);
      else assert.match(answer.errors![0]!, error);
      assert.ok(!answer.calls.some(([name]) => ['write', 'remove', 'restore', 'tag'].includes(String(name))));
    });

  it('and is told what went wrong in the words that it was said in', async () => {
    const codes: FailureCode[] = ['CONFLICT', 'FORBIDDEN', 'UNAVAILABLE'];
    for (const code of codes) {
      const failing = { write: new Failure(code) };
      const answer = await asked('prod/data/t', { secrets, failing }, { method: 'POST', body: data });
      assert.equal(answer.status, statusFor(new Failure(code)));
    }
  });
});
