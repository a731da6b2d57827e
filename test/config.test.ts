import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  helpFor,
  type Options,
  readConfig,
  serveOptions,
  setPlanOptions,
  setupOptions,
  UsageError,
} from '../src/config.ts';

/** A value that is right for each flag, and what becomes of it. */
const good: Record<string, [given: string, read: unknown]> = {
  data: ['/x', '/x'],
  'database-url': ['postgres://u@h/d', 'postgres://u@h/d'],
  'root-key-file': ['/k', '/k'],
  'passphrase-file': ['/p', '/p'],
  'passphrase-prompt': ['true', true],
  host: ['::1', '::1'],
  port: ['0', 0],
  'tls-cert': ['/c', '/c'],
  'tls-key': ['/k', '/k'],
  tls: ['auto', 'auto'],
  'behind-proxy': ['10.0.0.0/8, ::1/128', ['10.0.0.0/8', '::1/128']],
  'checkpoint-file': ['/f', '/f'],
  'log-retention-days': ['0', 0],
  organization: ['Acme', 'Acme'],
  plan: ['free', 'free'],
  'enterprise-limit': ['5', 5],
  'new-key': ['true', true],
  json: ['true', true],
};
const bad: Record<string, string[]> = {
  data: [''],
  'database-url': ['mysql://x', 'x', ''],
  'root-key-file': [''],
  'passphrase-file': [''],
  'passphrase-prompt': ['yes'],
  host: [''],
  port: ['-1', '65536', 'x', '1.5', '', '1e3', ' 80', '0x50'],
  'tls-cert': [''],
  'tls-key': [''],
  tls: ['on', 'AUTO', ''],
  'behind-proxy': ['10.0.0.1', '10.0.0.0/99', '', 'x/8', '10.0.0.0/8,'],
  'checkpoint-file': [''],
  'log-retention-days': ['-1', 'x', '999999999'],
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
      // What a later flag takes is tested where that flag belongs; what it refuses must still be named.
      const [given, read] = good[name] ?? [];
      if (given !== undefined) {
        it(`--${name} and ${twinOf(name)} mean the same, and the flag wins`, () => {
          const isSwitch = option.value === undefined;
          const flag = isSwitch ? [`--${name}`] : [`--${name}`, given];
          const value = (args: string[], env: Record<string, string>) =>
            (readConfig(options, args, env) as Record<string, unknown>)[name];
          assert.deepEqual(value(flag, {}), read);
          assert.deepEqual(value([], { [twinOf(name)]: given }), read);
          assert.deepEqual(value(flag, { [twinOf(name)]: isSwitch ? 'false' : 'not looked at' }), read);
          assert.deepEqual(value([], {}), option.fallback);
        });
      }
      it(`a bad value of --${name} is named, by flag and by twin`, () => {
        for (const wrong of bad[name] ?? []) {
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
      const help = helpFor(command, 'x', options);
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
});
