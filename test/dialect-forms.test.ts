/** The forms of bodies and answers in Vault's dialect: by themselves. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { exactJson, isMap, objectIn } from '../src/http/dialect/calls.ts';
import * as forms from '../src/http/dialect/forms.ts';

function failureBy(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Failure);
    return error;
  }
  return assert.fail('nothing was refused');
}

describe('an answer in the dialect', () => {
  it('is an envelope around its data, with the request’s own id', () => {
    const body = forms.envelope('{"a":1}');
    const empty = { lease_id: '', renewable: false, lease_duration: 0, wrap_info: null, warnings: null };
    const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
    assert.deepEqual(JSON.parse(String(forms.identified(body, id))), {
      request_id: id,
      ...empty,
      data: { a: 1 },
      auth: null,
    });
    assert.equal(
      JSON.parse(String(body)).request_id,
      '00000000-0000-0000-0000-000000000000',
      'the kept one stays',
    );
    assert.deepEqual(JSON.parse(String(forms.envelope('null', '{"b":2}'))).auth, { b: 2 });
  });

  const failures: [failure: Failure, status: number, errors: string[]][] = [
    [new Failure('UNAUTHORIZED'), 403, ['permission denied']],
    [new Failure('FORBIDDEN'), 403, ['permission denied']],
    [new Failure('SECOND_FACTOR_REQUIRED'), 403, ['A one-time code is required']],
    [new Failure('NOT_ACTIVE'), 404, []],
    [new Failure('EXPIRED'), 404, []],
    [new Failure('NOT_FOUND'), 404, []],
    [new Failure('NOT_FOUND', { message: 'elsewhere' }), 404, ['elsewhere']],
    [new Failure('RATE_LIMITED'), 429, ['rate limit quota exceeded']],
    [new Failure('UNAVAILABLE'), 503, ['The service is unavailable']],
    [new Failure('INVALID_REQUEST', { field: 'a', reason: 'must be b' }), 400, ['a must be b']],
    [new forms.Unsupported('not here'), 405, ['not here']],
    [
      forms.noMount(),
      403,
      ["preflight capability check returned 403, please ensure client's policies grant access to the path"],
    ],
    [forms.notFound(), 404, []],
    [forms.readOnlyKey(), 403, ['permission denied']],
  ];
  for (const [failure, status, errors] of failures)
    it(`for ${failure.code} ${failure.message} is ${status} ${errors}`, () => {
      assert.equal(forms.statusFor(failure), status);
      assert.deepEqual(forms.errorsOf(failure), { errors });
    });

  it('tells of a version, with tags where there are some', () => {
    const version = { version: 3, version_created_at: 'then' };
    const expected = {
      created_time: 'then',
      custom_metadata: null,
      deletion_time: '',
      destroyed: false,
      version: 3,
    };
    assert.deepEqual(forms.versionMetadata(version), expected);
    assert.deepEqual(forms.versionMetadata({ ...version, tags: {} }), expected);
    assert.deepEqual(forms.versionMetadata({ ...version, tags: { a: 'b' } }, 'later'), {
      ...expected,
      custom_metadata: { a: 'b' },
      deletion_time: 'later',
    });
  });

  it('tells of a history in the order of its versions', () => {
    const versions = [3, 10, 2].map(version => ({ version, created_at: `at ${version}` }));
    const form = forms.historyForm({ created_at: 'first', updated_at: 'last', tags: { a: 'b' }, versions });
    const { versions: told, ...rest } = form;
    assert.deepEqual(rest, {
      cas_required: false,
      created_time: 'first',
      current_version: 10,
      custom_metadata: { a: 'b' },
      delete_version_after: '0s',
      max_versions: 0,
      oldest_version: 2,
      updated_time: 'last',
    });
    assert.deepEqual(Object.keys(told), ['2', '3', '10']);
    assert.deepEqual(told[3], { created_time: 'at 3', deletion_time: '', destroyed: false });
  });

  const names = ['b', 'a/x', 'a/y/z', 'a/', 'ab', 'a', '/x'];
  const lists: [folder: string, keys: string[] | null][] = [
    ['', ['/', 'a', 'a/', 'ab', 'b']],
    ['/', ['x']],
    ['a', ['x', 'y/']],
    ['a/', ['x', 'y/']],
    ['a/y', ['z']],
    ['ab', null],
    ['c', null],
  ];
  for (const [folder, keys] of lists)
    it(`lists ${keys ?? 'nothing'} in ${JSON.stringify(folder)}`, () => {
      if (keys === null) assert.equal(failureBy(() => forms.listForm(names, folder)).code, 'NOT_FOUND');
      else assert.deepEqual(forms.listForm(names, folder), { keys });
    });

  const types: [type: string, isJson: boolean][] = [
    ['application/json', true],
    ['APPLICATION/JSON; charset=utf-8', true],
    ['application/vnd.a-b+json', true],
    ['application/json ;a', true],
    ['application/jsonx', false],
    ['text/json', false],
    ['text/plain', false],
    ['xapplication/json', false],
  ];
  for (const [type, isJson] of types)
    it(`${isJson ? 'shows' : 'does not show'} an object of the type ${type} as a map`, () => {
      const value = ' {"a": 1.10}\n';
      assert.equal(forms.isJsonType(type), isJson);
      assert.equal(
        forms.mapOf({ value, content_type: type }),
        isJson ? '{"a": 1.10}' : JSON.stringify({ value }),
      );
    });
  for (const value of ['[]', 'null', '1', '"a"', '{', ''])
    it(`shows ${JSON.stringify(value)} as the one member of a map`, () =>
      assert.equal(forms.mapOf({ value, content_type: 'application/json' }), JSON.stringify({ value })));

  it('walks through 500 levels, and no more', () => {
    const nested = (depth: number) => ({
      value: `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
      content_type: 'application/json',
    });
    assert.equal(forms.walkableMapOf(nested(500)), nested(500).value);
    const { code, reason } = failureBy(() => forms.walkableMapOf(nested(501)));
    assert.equal(
      `${code} ${reason}`,
      'INVALID_REQUEST the secret is nested deeper than 500 levels: read or replace it as a whole',
    );
  });

  const map = { a: { b: { c: 1 } }, list: [{}], none: null, text: 'x' };
  const leaves = { list: null, none: null, text: null };
  const depths: [depth: number, subkeys: object][] = [
    [0, { a: { b: { c: null } }, ...leaves }],
    [1, { a: null, ...leaves }],
    [2, { a: { b: null }, ...leaves }],
    [3, { a: { b: { c: null } }, ...leaves }],
    [9, { a: { b: { c: null } }, ...leaves }],
  ];
  for (const [depth, subkeys] of depths)
    it(`shows no value down to ${depth}`, () => assert.deepEqual(forms.subkeysOf(map, depth), subkeys));

  it('tells of a mount', () => {
    const form = forms.mountForm('0199a3c4-7f00-7abc-8def-0123456789ab', 'prod');
    assert.deepEqual(
      [form.accessor, form.path, form.uuid, form.type, form.options],
      ['kv_0199a3c4', 'prod/', '0199a3c4-7f00-7abc-8def-0123456789ab', 'kv', { version: '2' }],
    );
  });
});

describe('a token in the dialect', () => {
  const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
  const created = 0x0199a3c47f00;
  const facts = { id, name: 'ci', expiresAt: null, maxUses: null, isChild: false };
  const ending = { ...facts, expiresAt: created + 10_000, maxUses: 5, isChild: true };

  it('is told when it was made, when it ends and what is left of it', () => {
    const form = forms.lookupForm('token', ending, created + 4_001);
    assert.deepEqual(
      [
        form.id,
        form.accessor,
        form.creation_time,
        form.creation_ttl,
        form.ttl,
        form.num_uses,
        form.orphan,
        form.display_name,
      ],
      ['token', id, Math.floor(created / 1000), 10, 5, 5, false, 'ci'],
    );
    assert.equal(form.expire_time, new Date(created + 10_000).toISOString());
    assert.equal(form.issue_time, new Date(created).toISOString());
  });
  it('without an end has no time and no number of uses', () => {
    const form = forms.lookupForm('token', facts, created);
    assert.deepEqual(
      [form.creation_ttl, form.ttl, form.expire_time, form.num_uses, form.orphan],
      [0, 0, null, 0, true],
    );
  });
  it('past its end has nothing left, and never less', () => {
    for (const [at, left] of [
      [9_000, 1],
      [9_001, 0],
      [10_000, 0],
      [99_000, 0],
    ] as const)
      assert.equal(forms.lookupForm('token', ending, created + at).ttl, left);
  });
  it('is given with what a client has to know of it', () => {
    const { client_token, accessor, lease_duration, num_uses, orphan, metadata } = forms.authForm(
      'token',
      ending,
      created,
    );
    assert.deepEqual(
      [client_token, accessor, lease_duration, num_uses, orphan, metadata],
      ['token', id, 10, 5, false, null],
    );
    const endless = forms.authForm('token', facts, created, { role: 'a' });
    assert.deepEqual(
      [endless.lease_duration, endless.num_uses, endless.orphan, endless.metadata],
      [0, 0, true, { role: 'a' }],
    );
  });
});

describe('a body in the dialect', () => {
  it('is an object, and an empty one where there is none', () => {
    assert.deepEqual(objectIn(undefined), {});
    assert.deepEqual(objectIn(null), {});
    const body = { a: 1 };
    assert.equal(objectIn(body), body);
    for (const other of [[], 'a', 1, true, false, ''])
      assert.equal(failureBy(() => objectIn(other)).reason, 'the body must be an object');
  });

  it('keeps every digit of a number', () => {
    const text = '{"a":1.10,"b":12345678901234567890,"c":1,"d":-0.5,"e":1e2,"f":["1.10",null]}';
    assert.equal(JSON.stringify(exactJson(text)), text);
    assert.equal((exactJson('{"c":1}') as { c: unknown }).c, 1);
  });

  it('has maps that are neither lists nor such numbers', () => {
    assert.equal(isMap({}), true);
    assert.deepEqual([null, [], 1, 'a', undefined, exactJson('1.10')].map(isMap), Array(6).fill(false));
  });
});
