/** A database URL means what it means to PostgreSQL's own clients. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { locationOf } from '../src/service/opening/open-data.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { addressIn, encryptionsOf, passwordFor, tlsOf } from '../src/store/postgres/address.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-address-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string, content: string) => {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, 0o600);
  return path;
};

describe('a database URL', () => {
  const places: Record<string, [host: string, port: number][]> = {
    'postgres://u@h/d': [['h', 5432]],
    'postgresql://u@h:1/d': [['h', 1]],
    'postgres://u:p@h1:1,h2,h3:3/d': [
      ['h1', 1],
      ['h2', 5432],
      ['h3', 3],
    ],
    'postgres://u@[::1]:1,[fe80::1]/d': [
      ['::1', 1],
      ['fe80::1', 5432],
    ],
    'postgres://u@%2Frun%2Fpostgresql/d': [['/run/postgresql', 5432]],
    'postgres:///d?host=/run/postgresql,h&port=7': [
      ['/run/postgresql', 7],
      ['h', 7],
    ],
    'postgres://u@h/d?target_session_attrs=read-write': [['h', 5432]],
  };
  for (const [url, hosts] of Object.entries(places)) {
    it(`${url} names ${hosts.length} of them`, () => {
      const address = addressIn(url);
      assert.deepEqual(
        address.hosts.map(({ host, port }) => [host, port]),
        hosts,
      );
      assert.equal(address.database, 'd');
    });
  }

  it('is filled in by the environment, and wins over it', () => {
    const environment = {
      PGHOST: 'e',
      PGPORT: '9',
      PGUSER: 'eu',
      PGDATABASE: 'ed',
      PGPASSWORD: 'ep',
      PGSSLMODE: 'require',
    };
    const short = addressIn('postgres:///', environment);
    assert.deepEqual(short.hosts, [{ host: 'e', port: 9 }]);
    assert.deepEqual([short.user, short.database, short.password], ['eu', 'ed', 'ep']);
    assert.deepEqual(encryptionsOf(short, short.hosts[0]!), [true]);
    const full = addressIn('postgres://u:p@h:1/d?sslmode=disable', environment);
    assert.deepEqual(full.hosts, [{ host: 'h', port: 1 }]);
    assert.deepEqual([full.user, full.database, full.password], ['u', 'd', 'p']);
    assert.deepEqual(encryptionsOf(full, full.hosts[0]!), [false]);
    assert.throws(() => addressIn('postgres://u@h/d', { PGSSLMODE: 'x' }), /sslmode/);
  });

  it('has its parts decoded', () => {
    const { user, password, database } = addressIn('postgres://us%40er:p%3A%2F@h/d%20b');
    assert.deepEqual([user, password, database], ['us@er', 'p:/', 'd b']);
  });

  const refused = {
    'mysql://u@h/d': /begin with/,
    'postgres://u:sesame@h:x/d': /ports/,
    'postgres://u:sesame@h/d?sslmode=no-verify': /sslmode/,
    'postgres://u:sesame@h/d?sslrootcert=system&sslmode=require': /verify-full/,
    'postgres://u:sesame@h/d?sesame=1': /don’t support/,
    'postgres://u:sesame@h/d?target_session_attrs=standby': /target_session_attrs/,
    'postgres://u:sesame%@h/d': /percent-encoded/,
    'postgres://h1,h2,h3/d?port=1,2': /one port/,
  };
  for (const [url, why] of Object.entries(refused)) {
    it(`${url} is refused, and nothing of it is repeated`, () => {
      assert.throws(
        () => addressIn(url),
        ({ message }: Error) => why.test(message) && !message.includes('sesame'),
      );
    });
  }
});

describe('sslmode', () => {
  const authority = file('root.crt', 'PEM');
  const at = (query: string, host = 'h') => {
    const address = addressIn(`postgres://u@${host}/d${query}`);
    const tls = tlsOf(address);
    const verifies = tls.rejectUnauthorized !== false;
    return [encryptionsOf(address, address.hosts[0]!), verifies, tls.checkServerIdentity === undefined];
  };
  const [anyCertificate, chain, chainAndName] = [
    [false, true],
    [true, false],
    [true, true],
  ];
  const modes: Record<string, [encryptions: boolean[], ...verifies: boolean[]]> = {
    '': [[true, false], ...anyCertificate!],
    '?sslmode=disable': [[false], ...anyCertificate!],
    '?sslmode=allow': [[false, true], ...anyCertificate!],
    '?sslmode=prefer': [[true, false], ...anyCertificate!],
    '?sslmode=require': [[true], ...anyCertificate!],
    '?ssl=true': [[true], ...anyCertificate!],
    [`?sslmode=require&sslrootcert=${authority}`]: [[true], ...chain!],
    [`?sslmode=verify-ca&sslrootcert=${authority}`]: [[true], ...chain!],
    [`?sslmode=verify-full&sslrootcert=${authority}`]: [[true], ...chainAndName!],
    '?sslmode=verify-full': [[true], ...chainAndName!],
    '?sslrootcert=system': [[true], ...chainAndName!],
  };
  for (const [query, expected] of Object.entries(modes)) {
    it(`${query.replace(folder, '') || 'where none is given'}: ${JSON.stringify(expected)}`, () => {
      assert.deepEqual(at(query), expected);
    });
  }

  it('plays no part on a Unix socket, and verify-ca needs an authority', () => {
    assert.deepEqual(at('?sslmode=require', '%2Frun')[0], [false]);
    assert.throws(() => at('?sslmode=verify-ca'), /sslrootcert/);
    assert.throws(() => at(`?sslrootcert=${folder}/none`), /ENOENT/);
  });
});

describe('the password of a database', () => {
  const passfile = file('pgpass', '#h:*:*:*:none\nh:5432:d:u:p\\:1\n*:*:*:other:p2\nh2:7:*:u:p3\n');
  const password = (url: string, flag: string | null = null) => {
    const address = addressIn(url);
    return passwordFor(address, address.hosts.at(-1)!, flag);
  };

  it('is in the URL, in the file of the flag, or in the password file of PostgreSQL’s clients', async () => {
    assert.equal(await password('postgres://u:p@h/d'), 'p');
    assert.equal(await password('postgres://u@h/d', file('password', ' p 4 \n')), ' p 4 ');
    const from = (place: string) => password(`postgres://${place}?passfile=${passfile}`);
    assert.equal(await from('u@h/d'), 'p:1');
    assert.equal(await from('other@x:9/y'), 'p2');
    assert.equal(await from('u@h1:1,h2:7/x'), 'p3');
    assert.equal(await from('u@x/d'), undefined);
    chmodSync(passfile, 0o644);
    await assert.rejects(from('u@h/d'), /other users/);
  });

  it('is in one place: a flag that contradicts the URL, or has none to go with, is refused', () => {
    const place = (...flags: string[]) => locationOf(readConfig(serveOptions, flags, {}), true);
    const [url, secret] = ['postgres://u@h/d', 'postgres://u:p@h/d'];
    assert.equal(place('--database-url', url, '--database-password-file', '/p').engine, 'postgres');
    for (const flags of [
      ['--database-url', secret, '--database-password-file', '/p'],
      ['--database-url', url, '--database-listen-url', secret, '--database-password-file', '/p'],
      ['--database-password-file', '/p'],
      ['--database-listen-url', url],
    ])
      assert.throws(() => place(...flags), /--database-(password-file|listen-url) (requires|can’t)/);
  });
});
