/** What an operator and a program are told of an error: of backups, and by the client. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BackupError, explained } from '../src/backup/backup-error.ts';
import { recipientsOf } from '../src/backup/recipients.ts';
import { asError, codeOf, type ErrorCode, isPassing, StrongroomError } from '../src/client/errors.ts';
import { AgeError } from '../src/keyring/age/header.ts';
import { newKeyPair } from '../src/keyring/age/keys.ts';
import { RootKeyError } from '../src/keyring/root-key/root-key.ts';
import { StoreError } from '../src/store/engine/store-error.ts';

const coded = (facts: object, cause?: unknown) => Object.assign(new Error('secret path', { cause }), facts);

/** An error with so many others around it. */
function behind(error: Error, count: number): Error {
  return count === 0 ? error : new Error('around', { cause: behind(error, count - 1) });
}

describe('an error of a backup', () => {
  const room = 'no space left for the file';
  const rows: [what: string, error: unknown, message: string | null][] = [
    ...['ENOSPC', 'EDQUOT', 'EFBIG', '53100'].map((code): [string, unknown, string] => [
      code,
      coded({ code }),
      room,
    ]),
    ['a full database of SQLite', coded({ errcode: 13 }), room],
    ['a failed write of SQLite', coded({ errcode: 778 }), room],
    ['another code of SQLite', coded({ errcode: 777 }), null],
    ['a full disk behind an error of the store', new StoreError('x', coded({ code: 'ENOSPC' })), room],
    ['a full disk behind nine others', behind(coded({ code: 'ENOSPC' }), 9), room],
    ['a full disk behind ten others', behind(coded({ code: 'ENOSPC' }), 10), null],
    ['a code of the system', coded({ code: 'EACCES' }), 'the file can’t be read or written (EACCES)'],
    [
      'a code of the system behind another',
      behind(coded({ code: 'EIO' }), 1),
      'the file can’t be read or written (EIO)',
    ],
    ['a code that is none of the system', coded({ code: 'ERR_X' }), null],
    ['a code of a database', coded({ code: '42P01' }), null],
    ['a number', coded({ code: 5 }), null],
    ['no code', new Error('x'), null],
    ['no error', 'text', null],
    [
      'an error of the format',
      new AgeError('locked', 'it is locked'),
      'the file can’t be used: it is locked',
    ],
    ['an error of the root key', Object.assign(new RootKeyError('x'), { code: 'ENOSPC' }), null],
    ['an error of backups', Object.assign(new BackupError('x'), { code: 'ENOSPC' }), null],
    ['an error of the store', Object.assign(new StoreError('x'), { code: 'EIO' }), null],
  ];
  for (const [what, error, message] of rows)
    it(`${message === null ? 'stays as it is' : 'is explained'}: ${what}`, () => {
      const told = explained(error, 'the file');
      if (message === null) assert.equal(told, error);
      else {
        assert.ok(told instanceof BackupError);
        assert.deepEqual([told.name, told.message, told.cause], ['BackupError', message, error]);
      }
    });
});

describe('what a backup is encrypted for', () => {
  const { recipient } = newKeyPair();
  const rows: [keys: readonly string[], passphrase: string | null, expected: number | RegExp][] = [
    [[recipient], null, 1],
    [[recipient, recipient], null, 2],
    [[], 'twelve-chars', 1],
    [[], 'eleven-char', /too short: use at least 12 characters/],
    [[], '😀'.repeat(11), /too short/],
    [[], '😀'.repeat(12), 1],
    [[], null, /must be encrypted/],
    [[recipient], 'twelve-chars', /can’t be combined with a passphrase/],
    [[recipient], '', /can’t be combined with a passphrase/],
  ];
  for (const [keys, passphrase, expected] of rows)
    it(`is ${typeof expected === 'number' ? 'taken' : 'refused'}: ${keys.length} keys and ${JSON.stringify(passphrase)}`, () => {
      const recipients = () => recipientsOf({ keys, passphrase });
      if (typeof expected === 'number') assert.equal(recipients().length, expected);
      else assert.throws(recipients, error => error instanceof BackupError && expected.test(error.message));
    });
});

describe('an error of the client', () => {
  const statuses: [status: number, code: ErrorCode][] = [
    [400, 'INVALID_REQUEST'],
    [401, 'UNAUTHORIZED'],
    [403, 'FORBIDDEN'],
    [404, 'NOT_FOUND'],
    [410, 'GONE'],
    [429, 'RATE_LIMITED'],
    [502, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [504, 'UNAVAILABLE'],
    [500, 'INTERNAL_ERROR'],
    [599, 'INTERNAL_ERROR'],
    [499, 'INVALID_ANSWER'],
    [302, 'INVALID_ANSWER'],
  ];
  for (const [status, code] of statuses)
    it(`is ${code} for the status ${status}`, () => {
      assert.equal(codeOf(status), code);
      const passes = status === 429 || status >= 500 || code === 'INVALID_ANSWER';
      assert.equal(isPassing(new StrongroomError(code, 'x')), passes);
    });

  it('says what is known, and nothing where nothing is', () => {
    const cause = new Error('x');
    const facts = { status: 503, names: ['A'], retryAfterSeconds: 0, cause };
    const {
      name,
      status,
      names,
      retryAfterSeconds,
      cause: kept,
    } = new StrongroomError('UNAVAILABLE', 'x', facts);
    assert.deepEqual(
      { name, status, names, retryAfterSeconds, cause: kept },
      { name: 'StrongroomError', ...facts },
    );
    const bare = new StrongroomError('STALE', 'x');
    assert.deepEqual(
      [bare.status, bare.names, bare.retryAfterSeconds, 'cause' in bare],
      [null, [], null, false],
    );
    assert.equal('cause' in new StrongroomError('STALE', 'x', { status: 1 }), false);
  });

  it('is one of a callback, where that threw another', () => {
    const own = new StrongroomError('STALE', 'x');
    assert.equal(asError(own), own);
    const { code, cause } = asError('thrown');
    assert.deepEqual([code, cause], ['CALLBACK_FAILED', 'thrown']);
  });
});
