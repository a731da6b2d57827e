/** What a use rule must say to be one, and what it means where it says nothing. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { egressInto } from '../src/access/egress.ts';
import { unknownWriter } from '../src/domain/kernel/written-by.ts';
import {
  callRuleOf,
  changedFields,
  checkFields,
  fieldsIn,
  keyRuleOf,
  presentUseRule,
} from '../src/domain/uses/rule-records.ts';
import type { UseRuleRow } from '../src/store/records/use-rules.ts';

type Body = Parameters<typeof changedFields>[1];

const call: Body = {
  hosts: ['api.example.com'],
  methods: ['POST'],
  paths: ['/**'],
  place: { type: 'bearer' },
};
const key: Body = { operations: ['sign'], algorithms: ['ES256'] };
const egress = egressInto(['10.0.0.0/8']);

function refusal(type: 'secret' | 'key', change: Body): string | null {
  try {
    checkFields(changedFields(null, { ...(type === 'secret' ? call : key), ...change }, type), type, egress);
    return null;
  } catch (error) {
    const { field, reason } = error as { field: string; reason: string };
    return `${field} ${reason}`;
  }
}

describe('a use rule', () => {
  it('of a secret has defaults for what it leaves out', () => {
    const { hosts, methods, paths, place, ...rest } = changedFields(null, call, 'secret');
    assert.deepEqual({ hosts, methods, paths, place }, call);
    assert.deepEqual(rest, {
      request_headers: ['accept', 'content-type'],
      response_headers: ['content-type'],
      max_request: 65_536,
      max_response: 262_144,
      binary: false,
      response: 'full',
      store: null,
      gateway: null,
      timeout: 30,
      operations: null,
      algorithms: null,
      jwt: null,
      approval: 'always',
      rate_limit: 60,
    });
  });

  it('of a key has the defaults of every rule alone', () => {
    const { operations, algorithms, approval, rate_limit, ...rest } = changedFields(null, key, 'key');
    assert.deepEqual({ operations, algorithms }, key);
    assert.deepEqual([approval, rate_limit], ['always', 60]);
    assert.deepEqual(new Set(Object.values(rest)), new Set([null]));
  });

  it('keeps what a change leaves out; null is the default again, and no limit where there may be none', () => {
    const before = changedFields(null, { ...call, timeout: 5, approval: 'never', rate_limit: 7 }, 'secret');
    const after = changedFields(before, { timeout: null, rate_limit: null, paths: ['/a'] }, 'secret');
    assert.deepEqual(after, { ...before, timeout: 30, rate_limit: null, paths: ['/a'] });
    const keys = changedFields(null, key, 'key');
    assert.deepEqual(changedFields(keys, { algorithms: null }, 'key'), { ...keys, algorithms: null });
  });

  const store = { secret_id: 's', pointer: '/token' };
  const jwt = { issuer: 'i', audiences: ['a'], longest_lifetime: 60 };
  const ofSecrets: [change: Body, reason: string | null][] = [
    [{}, null],
    [{ hosts: null }, 'hosts is required'],
    [{ methods: null }, 'methods is required'],
    [{ paths: null }, 'paths is required'],
    [{ place: null }, 'place is required'],
    [{ operations: ['sign'] }, 'operations is not used by a rule for a secret'],
    [{ algorithms: ['ES256'] }, 'algorithms is not used by a rule for a secret'],
    [{ jwt }, 'jwt is not used by a rule for a secret'],
    [{ hosts: ['http://10.0.0.1'] }, null],
    [{ hosts: ['api.example.com', '192.168.0.1'] }, 'hosts must lead to a public address'],
    [{ hosts: ['http://93.184.216.34'] }, 'hosts must lead to a public address'],
    [{ hosts: ['http://api.example.com'] }, null],
    [{ place: { type: 'header', name: 'x-key' } }, null],
    [{ place: { type: 'query', name: 'accept' } }, null],
    [
      { place: { type: 'header', name: 'accept' } },
      'request_headers must not contain the header that the value goes into',
    ],
    [{ place: { type: 'header', name: 'accept' }, request_headers: ['x-other'] }, null],
    [{ place: { type: 'json', pointer: '/a/b~0~1' } }, null],
    [{ place: { type: 'json', pointer: 'a' } }, 'place must have a JSON pointer such as /auth/token'],
    [{ place: { type: 'json', pointer: '/a//b' } }, 'place must have a JSON pointer such as /auth/token'],
    [{ place: { type: 'json', pointer: '/a~2' } }, 'place must have a JSON pointer such as /auth/token'],
    [{ place: { type: 'form', field: 'a' } }, null],
    ...(['GET', 'HEAD'] as const).flatMap((method): [Body, string | null][] => [
      [{ methods: ['POST', method] }, null],
      [
        { methods: ['POST', method], place: { type: 'json', pointer: '/a' } },
        'methods must not contain GET or HEAD, because the value goes into the body',
      ],
      [
        { methods: [method], place: { type: 'form', field: 'a' } },
        'methods must not contain GET or HEAD, because the value goes into the body',
      ],
    ]),
    [{ response: 'store', store }, null],
    [{ response: 'store' }, 'store is required if response is store'],
    [{ store }, 'store is only allowed if response is store'],
    [{ response: 'status-only', store }, 'store is only allowed if response is store'],
    [
      { response: 'store', store: { ...store, pointer: 'a' } },
      'store must have a JSON pointer such as /access_token',
    ],
  ];
  for (const [change, reason] of ofSecrets)
    it(`of a secret ${reason === null ? 'may' : 'may not'} say ${JSON.stringify(change)}`, () =>
      assert.equal(refusal('secret', change), reason));

  const ofKeys: [change: Body, reason: string | null][] = [
    [{}, null],
    [{ operations: null }, 'operations is required'],
    [{ algorithms: null }, 'algorithms is required'],
    [{ hosts: ['a'] }, 'hosts is not used by a rule for a key'],
    [{ timeout: 1 }, 'timeout is not used by a rule for a key'],
    [{ store }, 'store is not used by a rule for a key'],
    [{ jwt }, null],
    [{ operations: ['decrypt'], algorithms: ['RSA-OAEP-256'] }, null],
    [{ operations: ['decrypt'], algorithms: ['ES256'] }, 'algorithms must contain one for decryption'],
    [{ operations: ['sign'], algorithms: ['RSA-OAEP-256'] }, 'algorithms must contain one for signatures'],
    [
      { operations: ['decrypt', 'sign'], algorithms: ['RSA-OAEP-256'] },
      'algorithms must contain one for signatures',
    ],
    [
      { operations: ['decrypt', 'sign'], algorithms: ['ES256'] },
      'algorithms must contain one for decryption',
    ],
    [{ operations: ['decrypt', 'sign'], algorithms: ['ES256', 'RSA-OAEP-256'] }, null],
    [{ operations: ['decrypt'], algorithms: ['RSA-OAEP-256'], jwt }, 'jwt requires the operation sign'],
  ];
  for (const [change, reason] of ofKeys)
    it(`of a key ${reason === null ? 'may' : 'may not'} say ${JSON.stringify(change)}`, () =>
      assert.equal(refusal('key', change), reason));

  it('is shown with its secret or its key, and judged by what is stored', () => {
    const fields = changedFields(null, call, 'secret');
    const row = {
      id: 'r',
      vault_id: 'v',
      resource_type: 'secret',
      resource_id: 's',
      name: 'n',
      revision: 3,
      rule: JSON.stringify(fields),
      created_by: 'p',
      created_at: 0,
      updated_at: 1,
    } as UseRuleRow;
    const shown = presentUseRule(row);
    assert.deepEqual(
      [shown.secret_id, shown.key_id, shown.created_at],
      ['s', null, '1970-01-01T00:00:00.000Z'],
    );
    assert.deepEqual(fieldsIn(row), fields);
    assert.deepEqual(callRuleOf(row), {
      ...fields,
      id: 'r',
      name: 'n',
      revision: 3,
      writers: [unknownWriter],
    });
    assert.deepEqual(callRuleOf({ ...row, revision: 1 }).writers, ['p']);
    const written = JSON.stringify({ ...fields, written_by: { revision: 3, ids: ['p', 'q'] } });
    assert.deepEqual(callRuleOf({ ...row, rule: written }).writers, ['p', 'q']);
    const ofKey = presentUseRule({ ...row, resource_type: 'key' });
    assert.deepEqual([ofKey.secret_id, ofKey.key_id], [null, 's']);
    assert.equal(keyRuleOf(row).revision, 3);
  });
});
