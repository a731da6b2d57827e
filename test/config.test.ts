import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { warningsOf } from '../src/cli/terminal/warnings.ts';
import { newKeyPair } from '../src/keyring/age/keys.ts';
import { serveOptions, setPlanOptions, setupOptions } from '../src/service/settings/command-options.ts';
import { type Options, readConfig, UsageError } from '../src/service/settings/config.ts';
import { helpFor } from '../src/service/settings/options.ts';

const folder = mkdtempSync(join(tmpdir(), 'strongroom-config-'));
after(() => rmSync(folder, { recursive: true }));
const urlFile = join(folder, 'url');
writeFileSync(urlFile, 'postgres://u@h/d\n');

const { recipient } = newKeyPair();

/** A value that is right for each flag, and what becomes of it. */
const good: Record<string, [given: string, read: unknown]> = {
  data: ['/x', '/x'],
  'database-url': ['postgres://u@h/d', 'postgres://u@h/d'],
  'database-url-file': [urlFile, 'postgres://u@h/d'],
  'database-password-file': ['/p', '/p'],
  'database-listen-url': ['postgres://u@h1:1,h2/d', 'postgres://u@h1:1,h2/d'],
  'new-database': ['true', true],
  'root-key-file': ['/k', '/k'],
  'passphrase-file': ['/p', '/p'],
  'passphrase-prompt': ['true', true],
  'transit-key': ['https://v/v1/transit/keys/k', 'https://v/v1/transit/keys/k'],
  'transit-token-file': ['/t', '/t'],
  'age-identity-file': ['/i', '/i'],
  'share-file': ['/s', '/s'],
  host: ['::1', '::1'],
  port: ['0', 0],
  socket: ['/run/s', '/run/s'],
  'socket-mode': ['0600', 0o600],
  'tls-cert': ['/c', '/c'],
  'tls-key': ['/k', '/k'],
  tls: ['auto', 'auto'],
  'behind-proxy': ['10.0.0.0/8, ::1/128', ['10.0.0.0/8', '::1/128']],
  readers: ['16', 16],
  'connections-per-address': ['1', 1],
  'oidc-issuer': ['http://localhost:8080/realm', 'http://localhost:8080/realm'],
  'oidc-client-id': ['strongroom', 'strongroom'],
  'oidc-name': ['Acme ID', 'Acme ID'],
  'oidc-groups-claim': ['groups', 'groups'],
  'public-url': [
    'https://vault.example.com, http://10.0.0.1:8420',
    ['https://vault.example.com', 'http://10.0.0.1:8420'],
  ],
  oauth: ['offered', 'offered'],
  'oauth-client': [
    fileURLToPath(new URL('oauth-clients.json', import.meta.url)),
    [{ client_id: 'agent', client_name: 'Agent', redirect_uris: ['http://127.0.0.1/callback'] }],
  ],
  'oauth-fetch-clients': ['true', true],
  'oauth-registration': ['true', true],
  'mcp-base-url': ['https://tools.example.com', ['https://tools.example.com']],
  'checkpoint-file': ['/f', '/f'],
  'accept-restore': ['12', 12],
  'accept-clock': ['12', 12],
  'allow-private-webhooks': ['10.0.0.0/8', ['10.0.0.0/8']],
  'allow-private-issuers': ['10.0.0.0/8', ['10.0.0.0/8']],
  'allow-private-leases': ['10.0.0.0/8', ['10.0.0.0/8']],
  'client-certificates': ['true', true],
  'log-retention-days': ['0', 0],
  'audit-retention-days': ['365', 365],
  'audit-archive': ['/a', '/a'],
  'smtp-url': [
    'smtp://vault%40example.com@mail.example.com:587',
    'smtp://vault%40example.com@mail.example.com:587',
  ],
  'smtp-password-file': ['/p', '/p'],
  'mail-from': ['Strongroom <vault@example.com>', 'Strongroom <vault@example.com>'],
  'allow-plain-smtp': ['true', true],
  'log-format': ['json', 'json'],
  'metrics-port': ['9420', 9420],
  'metrics-host': ['::1', '::1'],
  'backup-to': ['/b', '/b'],
  'backup-every': ['30m', 1_800_000],
  keep: ['30d', { age: 2_592_000_000 }],
  'backup-recipient': [`${recipient}, ${recipient}`, [recipient, recipient]],
  'backup-passphrase-file': ['/p', '/p'],
  organization: ['Acme', 'Acme'],
  email: ['ada@example.com', 'ada@example.com'],
  plan: ['free', 'free'],
  'enterprise-limit': ['5', 5],
  'new-key': ['true', true],
  json: ['true', true],
};
const bad: Record<string, string[]> = {
  data: [''],
  'backup-to': [''],
  'backup-every': ['', '6', '0h', '6 h', '1w', '-1h', '10000d'],
  keep: ['', '0', 'all', '-1', '1.5', '100000'],
  'backup-recipient': ['', 'age1', `${recipient}x`, `${recipient},`, recipient.toUpperCase()],
  'backup-passphrase-file': [''],
  'database-url': ['mysql://x', 'x', ''],
  'database-url-file': ['', '/none'],
  'database-password-file': [''],
  'database-listen-url': ['mysql://x', 'postgres://u@h:0/d', 'postgres://u@h/d?sslmode=no-verify', ''],
  'new-database': ['yes'],
  'root-key-file': [''],
  'passphrase-file': [''],
  'passphrase-prompt': ['yes'],
  'transit-key': [
    '',
    'https://v/v1/transit/k',
    'http://v/v1/transit/keys/k',
    'https://v/v1/transit/keys/k?x=1',
  ],
  'transit-token-file': [''],
  'age-identity-file': [''],
  'share-file': [''],
  host: [''],
  port: ['-1', '65536', 'x', '1.5', '', '1e3', ' 80', '0x50'],
  socket: [''],
  'socket-mode': ['', '660 ', '0888', 'rw', '66', '01777'],
  'tls-cert': [''],
  'tls-key': [''],
  tls: ['on', 'AUTO', ''],
  'behind-proxy': ['10.0.0.1', '10.0.0.0/99', '', 'x/8', '10.0.0.0/8,'],
  readers: ['0', '-1', 'x', '17', '100', '2.5', ''],
  'connections-per-address': ['0', '-1', 'x', '10001', ''],
  'oidc-issuer': [
    '',
    'id.example.org',
    'ftp://id.example.org',
    'http://id.example.org',
    'http://localhost.example.org',
    'http://localhost@id.example.org',
    'http://localhost:80@id.example.org',
    'http://127.0.0.1.example.org',
    'HTTP://id.example.org',
  ],
  'oidc-client-id': [''],
  'oidc-name': [''],
  'oidc-groups-claim': [''],
  'public-url': [
    'vault.example.com',
    'ftp://vault.example.com',
    'https://me:word@vault.example.com',
    'https://a,',
    '',
  ],
  oauth: ['true', 'on', ''],
  'oauth-client': ['/nowhere', fileURLToPath(import.meta.url), ''],
  'oauth-fetch-clients': ['maybe'],
  'oauth-registration': ['maybe'],
  'mcp-base-url': ['tools', 'file:///etc', 'https://a, b', ''],
  'checkpoint-file': [''],
  'accept-restore': ['-1', 'x', '1.5', ''],
  'accept-clock': ['-1', 'x', '1.5', ''],
  'allow-private-webhooks': ['10.0.0.1', 'private', ''],
  'allow-private-issuers': ['10.0.0.1', 'private', ''],
  'allow-private-leases': ['10.0.0.1', 'private', ''],
  'client-certificates': ['maybe'],
  'audit-retention-days': ['-1', 'x', '999999999'],
  'audit-archive': [''],
  'log-retention-days': ['-1', 'x', '999999999'],
  'smtp-url': [
    'mail.example.com',
    'https://mail.example.com',
    'smtp://me:word@mail.example.com',
    'smtp://mail.example.com/path',
    'smtp://',
    '',
  ],
  'smtp-password-file': [''],
  'mail-from': ['vault', 'A <vault>', 'A <a@b> <c@d>', 'a@b\r\nBcc: c@d', 'A\n<a@b>', ''],
  'allow-plain-smtp': ['yes'],
  'log-format': ['xml', 'JSON', ''],
  'metrics-port': ['-1', '65536', 'x', ''],
  'metrics-host': [''],
  email: [''],
  organization: [''],
  plan: ['gold', 'Pro', ''],
  'enterprise-limit': ['-1', 'many'],
  'new-key': ['maybe'],
  json: ['2'],
};
const twinOf = (name: string) => `STRONGROOM_${name.toUpperCase().replaceAll('-', '_')}`;
const commands = { serve: serveOptions, setup: setupOptions, 'set-plan': setPlanOptions } as Record<
  string,
  Options
>;

const usage = (named: string) => (error: unknown) => {
  assert.ok(error instanceof UsageError, String(error));
  assert.ok(error.message.includes(named), error.message);
  assert.ok(!error.message.includes('\n'), 'one line');
  return true;
};

for (const [command, options] of Object.entries(commands)) {
  describe(`the flags of ${command}`, () => {
    for (const [name, option] of Object.entries(options)) {
      it(`--${name} and ${twinOf(name)} mean the same, and the flag wins`, () => {
        assert.ok(name in good, 'a flag has a line in this test');
        const [given, read] = good[name]!;
        const isSwitch = option.value === undefined;
        const flag = isSwitch ? [`--${name}`] : [`--${name}`, given];
        const value = (args: string[], env: Record<string, string>) =>
          (readConfig(options, args, env) as Record<string, unknown>)[name];
        assert.deepEqual(value(flag, {}), read);
        assert.deepEqual(value([], { [twinOf(name)]: given }), read);
        assert.deepEqual(value(flag, { [twinOf(name)]: isSwitch ? 'false' : 'not looked at' }), read);
        assert.deepEqual(value([], {}), option.fallback);
      });

      it(`a bad value of --${name} is named, by flag and by twin`, () => {
        assert.ok(bad[name]?.length, 'a flag has bad values in this test');
        for (const wrong of bad[name]!) {
          if (option.value !== undefined) {
            assert.throws(() => readConfig(options, [`--${name}=${wrong}`], {}), usage(`--${name}`));
          }
          assert.throws(() => readConfig(options, [], { [twinOf(name)]: wrong }), usage(twinOf(name)));
        }
      });
    }

    it('an unknown flag, a value too many, and a flag without its value are named', () => {
      assert.throws(() => readConfig(options, ['--prot', '1'], {}), usage('--prot'));
      assert.throws(() => readConfig(options, ['now'], {}), usage('now'));
      assert.throws(() => readConfig(options, ['--data'], {}), usage('--data'));
      assert.throws(() => readConfig(options, ['--data', '--database-url', 'x'], {}), usage('--data'));
      assert.throws(() => readConfig(options, ['-x'], {}), usage('-x'));
    });

    it('the help names every flag', () => {
      const help = helpFor({ usage: command, about: 'x', options });
      for (const name of Object.keys(options)) assert.ok(help.includes(`--${name}`));
    });
  });
}

describe('the configuration', () => {
  it('is one frozen object', () => {
    const config = readConfig(serveOptions, [], {});
    assert.ok(Object.isFrozen(config));
    assert.equal(config.host, '127.0.0.1');
    assert.equal(config.port, 8420);
    assert.equal(config.data, 'data');
  });

  it('takes a passphrase from the environment alone', () => {
    assert.equal(readConfig(serveOptions, [], { STRONGROOM_PASSPHRASE: 'x' }).passphrase, 'x');
    assert.throws(() => readConfig(serveOptions, ['--passphrase', 'x'], {}), usage('--passphrase'));
  });

  it('knows every flag that this test lists', () => {
    const known = new Set(Object.values(commands).flatMap(options => Object.keys(options)));
    assert.deepEqual(
      Object.keys(good).filter(name => !known.has(name)),
      [],
    );
  });

  it('reads the address of the database from a file, so that its password is in no list of processes', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'strongroom-config-')), 'url');
    writeFileSync(file, ' postgres://u:sesame@h/d\n');
    const url = 'postgres://u:sesame@h/d';
    assert.equal(readConfig(serveOptions, ['--database-url-file', file], {})['database-url'], url);
    assert.equal(readConfig(serveOptions, [], { STRONGROOM_DATABASE_URL_FILE: file })['database-url'], url);
    assert.throws(
      () => readConfig(serveOptions, ['--database-url-file', `${file}.none`], {}),
      usage('--database-url-file names a file that can’t be read'),
    );
    const both = ['--database-url-file', file, '--database-url', url];
    assert.throws(() => readConfig(serveOptions, both, {}), usage('--database-url-file can’t be combined'));
    writeFileSync(file, 'mysql://u:sesame@h/d');
    assert.throws(
      () => readConfig(serveOptions, ['--database-url-file', file], {}),
      (error: Error) =>
        usage('--database-url-file must begin with')(error) && !error.message.includes('sesame'),
    );
    rmSync(dirname(file), { recursive: true });
  });

  it('warns of a password on the command line, however it is written, and of nothing else', () => {
    const warned = (...args: string[]) => warningsOf(args).length;
    for (const url of ['postgres://u:p@h/d', 'postgres://u@h/d?password=p', 'postgres://u:p@h1:1,h2:2/d']) {
      assert.deepEqual(
        [warned('--database-url', url), warned('--port', '1', `--database-url=${url}`)],
        [1, 1],
      );
      assert.equal(warned('--database-listen-url', url), 1);
    }
    for (const args of [
      [],
      ['--database-url', 'postgres://u@h/d'],
      ['--database-url'],
      ['--x', 'postgres://u:p@h/d'],
    ])
      assert.equal(warned(...args), 0);
  });
});
