/** Values through every export format and back, read by the programs that the formats are for; imports; templates. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { collect, type Done, startTool, type Tool } from './tool.ts';

const execute = promisify(execFile);
// biome-ignore-start lint/suspicious/noTemplateCurlyInString: what a careless reader would expand
const values: Readonly<Record<string, string>> = {
  NASTY: 'line one\nline "two" \'three\' $HOME ${PATH} $(id) \\n \\\\ \\ # = é 😀\ttab',
  BACKTICKS: 'a `command` "quoted" $X \\',
  APOSTROPHE: "it's $5 # no comment",
  SPACES: '  leading and trailing  ',
  HASH: '#not a comment',
  EMPTY: '',
  PEM: '-----BEGIN X-----\nabc+/=\n-----END X-----\n',
  LOOKS_LIKE: 'null',
  NUMBER: '0123',
};
const braces = '${PATH}';
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: only above
let tool: Tool;
before(async () => {
  tool = await startTool(values);
});
after(() => tool.stop());

async function exported(format: string, ...flags: string[]): Promise<string> {
  const done = await tool.run(['export', '--format', format, ...flags]);
  assert.equal(done.code, 0, done.stderr);
  return done.stdout;
}

function fails({ code, stdout, stderr }: Done, expected: number, what: RegExp): void {
  assert.equal(code, expected, stderr);
  assert.match(stderr, what);
  assert.equal(stdout, '');
}

const only = (names: readonly string[]) => ['--only', names.join(',')];
const pick = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, values[name]]));
const all = Object.keys(values);
const without = (...names: string[]) => all.filter(name => !names.includes(name));
const printed = (names: readonly string[]) =>
  `console.log(JSON.stringify(${JSON.stringify(names)}.map(n => process.env[n])))`;

describe('export', () => {
  it('dotenv: node --env-file reads the same values', async () => {
    const file = join(tool.home, 'node.env');
    const done = await tool.run(['export', '--out', file]);
    assert.equal(done.code, 0, done.stderr);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const env = { PATH: process.env.PATH };
    const { stdout } = await execute(process.execPath, [`--env-file=${file}`, '-e', printed(all)], { env });
    assert.deepEqual(
      JSON.parse(stdout),
      all.map(name => values[name]),
    );
  });

  it('dotenv --dialect python: python-dotenv’s rules give the same values', async () => {
    const names = without('NASTY');
    const text = await exported('dotenv', '--dialect', 'python', ...only([...names]));
    assert.deepEqual(pythonDotenv(text), pick(names));
    fails(await tool.run(['export', '--dialect', 'python']), 1, /^strongroom: NASTY can’t be written .*\n$/);
    const braceless = { ...values, NASTY: values.NASTY!.replace(braces, '') };
    await tool.put('NASTY', braceless.NASTY!);
    assert.deepEqual(pythonDotenv(await exported('dotenv', '--dialect', 'python')), braceless);
    await tool.put('NASTY', values.NASTY!);
  });

  it('shell: bash and sh read the same values', async () => {
    const file = join(tool.home, 'values.sh');
    writeFileSync(file, await exported('shell'));
    for (const shell of ['bash', 'sh']) {
      const script = `. "$0"; exec "$1" -e '${printed(all)}'`;
      const { stdout } = await execute(shell, ['-c', script, file, process.execPath], {
        env: { HOME: '/nowhere' },
      });
      assert.deepEqual(
        JSON.parse(stdout),
        all.map(name => values[name]),
        shell,
      );
    }
  });

  it('json and yaml: parsers read the same values', async () => {
    assert.deepEqual(JSON.parse(await exported('json')), values);
    const text = await exported('yaml');
    assert.deepEqual(parse(text), values);
    const script = 'import sys, json, yaml; print(json.dumps(yaml.safe_load(sys.stdin.read())))';
    const python = await piped('python3', ['-c', script], text);
    if (python.code === 0) assert.deepEqual(JSON.parse(python.stdout), values);
  });

  it('docker: its rules give the same values, and what they can’t express is refused by name', async () => {
    fails(
      await tool.run(['export', '--format', 'docker']),
      1,
      /^strongroom: NASTY can’t be written .*newline or a zero byte\n$/,
    );
    const names = without('NASTY', 'PEM');
    const text = await exported('docker', ...only(names));
    const read = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
    const pairs = read.map(line => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
    assert.deepEqual(Object.fromEntries(pairs), pick(names));
  });

  it('kubernetes: kubectl accepts the Secret, and its data are the values', async t => {
    const text = await exported('kubernetes', '--name', 'app-secrets', '--namespace', 'shop');
    const decoded = (data: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(data).map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]),
      );
    const secret = parse(text);
    assert.deepEqual([secret.kind, secret.metadata], ['Secret', { name: 'app-secrets', namespace: 'shop' }]);
    assert.deepEqual(decoded(secret.data), values);
    if ((await execute('kubectl', ['version', '--client']).catch(() => null)) === null)
      return t.skip('no kubectl');
    const kubectl = await piped('kubectl', ['annotate', '--local', '-f', '-', '-o', 'json', 'a=b'], text);
    assert.equal(kubectl.code, 0, kubectl.stderr);
    assert.deepEqual(decoded(JSON.parse(kubectl.stdout).data), values);
  });

  it('github: the runner’s rules give the same values; masks go to its log only on a runner', async () => {
    const done = await tool.run(['export', '--format', 'github']);
    assert.deepEqual(githubEnvironment(done.stdout), values);
    assert.equal(done.stderr, '');
    const runner = await tool.run(['export', '--format', 'github'], { env: { GITHUB_ACTIONS: 'true' } });
    assert.match(runner.stderr, /^::add-mask::it's \$5 # no comment$/m);
    assert.ok(!runner.stdout.includes('add-mask'));
  });

  it('--only, --prefix, and a name that is no variable', async () => {
    assert.equal(await exported('docker', '--only', 'HASH', '--prefix', 'APP_'), 'APP_HASH=#not a comment\n');
    const other = await startTool({ 'db password': 'x' });
    fails(await other.run(['export']), 1, /"db password" can’t be the name of a variable/);
    assert.equal((await other.run(['export', '--format', 'json'])).code, 0);
    await other.stop();
  });
});

async function piped(program: string, args: readonly string[], input: string): Promise<Done> {
  const child = spawn(program, args, { env: process.env });
  child.stdin.on('error', () => {}).end(input);
  return collect(child);
}

/** How python-dotenv reads quotes: a backslash escapes in both kinds, and `${NAME}` is expanded everywhere. */
function pythonDotenv(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  const line = /^(\w+)=(?:'((?:\\[\s\S]|[^'\\])*)'|"((?:\\[\s\S]|[^"\\])*)"|([^\r\n]*))$/gm;
  for (const [, name = '', single, double, plain = ''] of text.matchAll(line)) {
    const value = single?.replace(/\\([\\'])/g, '$1') ?? double ?? plain.replace(/\s+#.*$/, '').trimEnd();
    found[name] = value.replace(/\$\{\w+\}/g, 'EXPANDED');
  }
  return found;
}

function githubEnvironment(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name = '', , value = ''] of text.matchAll(/^(\w+)<<(\S+)\n([\s\S]*?)\n\2$/gm))
    found[name] = value;
  return found;
}

describe('import', () => {
  let into: Tool;
  before(async () => {
    into = await startTool({ OLD: 'old value' });
  });
  after(() => into.stop());

  /** In a vault of its own. */
  async function imported(name: string, content: string | Buffer, ...flags: string[]) {
    const file = join(into.home, name);
    writeFileSync(file, content);
    const vault = `vault ${name}`;
    await into.service.call('POST', '/v1/vaults', { name: vault });
    const done = await into.admin(['import', file, '--vault', vault, ...flags]);
    assert.equal(done.code, 0, done.stderr);
    return JSON.parse((await into.admin(['export', '--format', 'json', '--vault', vault])).stdout);
  }

  it('reads back what export writes', async () => {
    assert.deepEqual(await imported('a.env', await exported('dotenv')), values);
    assert.deepEqual(await imported('a.json', await exported('json')), values);
    assert.deepEqual(await imported('a.yaml', await exported('yaml')), values);
    assert.deepEqual(await imported('secret.yaml', await exported('kubernetes')), values);
  });

  it('YAML in every scalar style, as a parser reads it; what is beyond that is refused by line', async () => {
    const text = `---\n# comment\nplain: a b  # comment\n'single ''quoted''': 'it''s'\n"double": "tab\\t\\u00e9\\x41"\nliteral: |\n  one\n    two\n\n  three\nkept: |+\n  one\n\nstripped: >-\n  folded\n  text\n\n  more\nempty:\nurl: http://x/#y\nversion: 1.10\n`;
    const { empty, version, ...parsed } = parse(text, { schema: 'failsafe' });
    assert.deepEqual(await imported('styles.yaml', text), { ...parsed, empty: '', version: '1.10' });
    for (const bad of [
      'a: [1, 2]',
      'a: &x y',
      'a: !!str 1',
      '- a',
      'a: "x\n',
      'a: b\n  c: d',
      'a: 1\na: 2',
    ]) {
      const done = await into.admin(['import', '-', '--from', 'yaml'], { input: `${bad}\n` });
      fails(done, 1, /^strongroom: line \d of the YAML[^\n]*\n$/);
    }
  });

  it('exports of HashiCorp Vault, Infisical, Doppler, 1Password and AWS, as their own commands print them', async () => {
    for (const [name, expected] of Object.entries({
      'vault-kv2.json': { password: 'hunter2', port: '5432' },
      'vault-kv1.json': { password: 'hunter2' },
      'infisical.json': { DATABASE_URL: 'postgres://x', API_KEY: 'a b' },
      'doppler-download.json': { API_KEY: 'abc' },
      'doppler-secrets.json': { API_KEY: 'abc' },
      '1password.json': { username: 'root', password: 'hunter2', 'api key': 'k' },
      'aws.json': { username: 'app', password: 'hunter2' },
      'aws-plain.json': { 'prod/token': 'just text' },
      'aws-batch.json': { 'prod/db/username': 'app', 'prod/token': 'text' },
    })) {
      const content = readFileSync(new URL(`imports/${name}`, import.meta.url));
      assert.deepEqual(await imported(name, content), expected, name);
    }
  });

  it('PEM and PKCS#12: keys and certificates, with their passphrase', async () => {
    const folder = join(into.home, 'material');
    mkdirSync(folder);
    const at = (name: string) => join(folder, name);
    const openssl = (...args: string[]) => execute('openssl', args);
    await openssl(
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      at('site.key'),
      '-out',
      at('site.crt'),
      '-days',
      '30',
      '-subj',
      '/CN=x',
    );
    await openssl(
      'pkcs12',
      '-export',
      '-inkey',
      at('site.key'),
      '-in',
      at('site.crt'),
      '-out',
      at('site.p12'),
      '-passout',
      'pass:sesame',
    );
    writeFileSync(
      at('both.pem'),
      readFileSync(at('site.key'), 'utf8') + readFileSync(at('site.crt'), 'utf8'),
    );
    writeFileSync(at('phrase'), 'sesame\n');
    assert.match(
      (await into.admin(['import', at('both.pem'), '--vault', 'app'])).stdout,
      /^\+ both \(key\)\n\+ both \(certificate\)\n$/,
    );
    const locked = await into.admin([
      'import',
      at('site.p12'),
      '--passphrase-file',
      at('phrase'),
      '--vault',
      'app',
    ]);
    assert.equal(locked.stdout, '+ site (pkcs12)\n', locked.stderr);
    const { body } = await into.service.call('GET', '/v1/certificates');
    assert.deepEqual(body.data.map(({ name }: { name: string }) => name).sort(), ['both', 'site']);
    fails(
      await into.admin(['import', at('site.p12'), '--name', 'other', '--vault', 'app']),
      1,
      /other: .*passphrase/,
    );
  });

  it('--dry-run changes nothing and says what would be done; --skip-existing leaves what is there', async () => {
    const input = 'OLD=new value\nNEW=another\n';
    const dry = await into.admin(['import', '-', '--vault', 'app', '--dry-run'], { input });
    assert.equal(dry.stdout, '+ NEW\n~ OLD\n');
    assert.match(dry.stderr, /dry run: nothing was changed/);
    assert.equal((await into.run(['list'])).stdout, 'OLD\n');
    await into.admin(['import', '-', '--vault', 'app', '--skip-existing'], { input });
    assert.equal((await into.run(['get', 'OLD'])).stdout, 'old value\n');
    assert.equal((await into.run(['get', 'NEW'])).stdout, 'another\n');
    const done = await into.admin(['import', '-', '--vault', 'app', '--json'], { input });
    assert.deepEqual(
      JSON.parse(done.stdout).items.map(({ action }: { action: string }) => action),
      ['update', 'update'],
    );
    assert.equal((await into.run(['get', 'OLD'])).stdout, 'new value\n');
  });

  it('imports 250 at once; one that is refused does not stop the others, and no value is shown', async () => {
    const many = Object.fromEntries(Array.from({ length: 250 }, (_, at) => [`MANY_${at}`, `value ${at}`]));
    const input = JSON.stringify({ ...many, 'BAD\u0007': 'hunter2' });
    const done = await into.admin(['import', '-', '--vault', 'app'], { input });
    assert.equal(done.code, 1);
    assert.match(done.stderr, /BAD\\u\{7\}: name must[^\n]*\nstrongroom: 1 of 251 could not be imported\n$/);
    assert.ok(!done.stderr.includes('hunter2'));
    assert.equal((await into.run(['get', 'MANY_249'])).stdout, 'value 249\n');
    const twice = '[{"key":"A","value":"1"},{"key":"A","value":"2"}]';
    fails(await into.admin(['import', '-', '--vault', 'app'], { input: twice }), 1, /contains "A" twice/);
    fails(
      await into.admin(['import', '-', '--vault', 'app'], { input: '{hunter2' }),
      1,
      /^(?!.*hunter2).*not valid JSON/,
    );
    fails(await into.admin(['import', '-', '--vault', 'app'], { input: '' }), 1, /nothing to import/);
  });
});

describe('inject and redact', () => {
  it('fills a template once, or not at all', async () => {
    const template =
      'a={{ sr://app/HASH }}\nb="sr://self/NUMBER"\nc={{sr://self/NASTY}}\nd={{7*7}} <%= 1 %>\nsee sr://app/NUMBER.\n';
    const done = await tool.run(['inject'], { input: template });
    const expected = `a=#not a comment\nb="0123"\nc=${values.NASTY}\nd={{7*7}} <%= 1 %>\nsee 0123.\n`;
    assert.equal(done.stdout, expected, done.stderr);
    const [input, out] = [join(tool.home, 'in.tpl'), join(tool.home, 'out.txt')];
    writeFileSync(input, template);
    assert.equal((await tool.run(['inject', '-i', input, '-o', out])).code, 0);
    assert.equal(readFileSync(out, 'utf8'), expected);
    assert.equal(statSync(out).mode & 0o777, 0o600);
    fails(
      await tool.run(['inject', '-o', join(tool.home, 'not-there')], { input: 'sr://app/NOTHING' }),
      1,
      /"NOTHING"/,
    );
    assert.throws(() => statSync(join(tool.home, 'not-there')));
    await tool.put('HASH', 'sr://app/NUMBER');
    assert.equal((await tool.run(['inject'], { input: '{{ sr://app/HASH }}' })).stdout, 'sr://app/NUMBER');
    await tool.put('HASH', values.HASH!);
  });

  it('redact replaces values in what passes through, and nothing else', async () => {
    const random = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 31) % 256));
    const input = Buffer.concat([random, Buffer.from(`x${values.BACKTICKS}y`), random]);
    const { bytes } = await tool.run(['redact'], { input });
    assert.ok(bytes.equals(Buffer.concat([random, Buffer.from('x[secret BACKTICKS]y'), random])));
  });
});
