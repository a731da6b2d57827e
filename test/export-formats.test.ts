/** How values are written for other programs and masked in what programs print: each format against its own reader. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { parseEnv } from 'node:util';
import { type Masked, maskFor } from '../src/cli/terminal/mask.ts';
import { type Format, formats, githubMasks, write } from '../src/cli/vault/export-formats.ts';
import { refuseUnsafe } from '../src/cli/vault/unsafe-names.ts';
import { changesWhatRuns, isVariable } from '../src/contract/variable-names.ts';
import { Refusal } from '../src/service/settings/report.ts';

const style = { dialect: 'node', name: 'app', namespace: null } as const;

function refused(
  format: Format,
  name: string,
  value: string,
  dialect: 'node' | 'python' = 'node',
): string | null {
  try {
    write(format, [[name, value]], { ...style, dialect });
    return null;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return error.message;
  }
}

const values = [
  ...[
    '',
    'plain',
    'a b',
    '#no',
    'a=b',
    '$HOME',
    '\x24{HOME}',
    '`id`',
    '$(id)',
    '\\',
    '\\n',
    'a\\nb',
    '*',
    'x;y',
    '!x',
    '~',
  ],
  ...[
    "it's",
    '"said"',
    `it's "said"`,
    "it's `said`",
    `'"`,
    "'\\n",
    "'\\n`",
    `'"\``,
    'two\nlines',
    ' spaced ',
    'Zoë 😀',
    '-',
    "''",
  ],
];

describe('a value in a format', () => {
  it('comes back from Node’s own reader of .env files, or is refused', () => {
    for (const value of values) {
      const isUnwritable = value.includes("'") && /"|\\n/.test(value) && value.includes('`');
      if (isUnwritable)
        assert.match(refused('dotenv', 'A', value)!, /^A can’t be written in this format: it contains all/);
      else
        assert.deepEqual(
          {
            ...parseEnv(
              write(
                'dotenv',
                [
                  ['A', value],
                  ['B', '1'],
                ],
                style,
              ),
            ),
          },
          { A: value, B: '1' },
        );
    }
  });

  for (const [value, written] of [
    ['', ''],
    ['plain-9', 'plain-9'],
    ['a b', "'a b'"],
    ['$HOME', "'$HOME'"],
    ["it's", `"it's"`],
  ] as const)
    it(`is quoted in a .env file only as far as its readers need it: ${JSON.stringify(value)}`, () =>
      assert.equal(write('dotenv', [['A', value]], style), `A=${written}\n`));

  it('comes back from a shell, whatever it contains', () => {
    const names = values.map((_, at) => `V${at}`);
    const script = write(
      'shell',
      values.map((value, at) => [names[at]!, value] as const),
      style,
    );
    const shown = execFileSync('/bin/sh', [
      '-c',
      `${script}printf '%s\\0' ${names.map(name => `"$${name}"`).join(' ')}`,
    ]);
    assert.deepEqual(shown.toString().split('\0').slice(0, -1), values);
    assert.match(refused('shell', 'A', 'a\0b')!, /zero byte/);
    assert.equal(refused('shell', 'A', 'a\r'), null);
  });

  const python: [value: string, written: string | null][] = [
    ['', ''],
    ['plain./:@%+,=^~-_9', 'plain./:@%+,=^~-_9'],
    ['a b', "'a b'"],
    ["it's", "'it\\'s'"],
    ['a\\b', "'a\\\\b'"],
    ['$HOME', "'$HOME'"],
    ['a\x24{HOME}', null],
    ['a\r', null],
    ['two\nlines', "'two\nlines'"],
  ];
  for (const [value, written] of python)
    it(`is written for python-dotenv: ${JSON.stringify(value)}`, () => {
      if (written === null)
        assert.match(refused('dotenv', 'A', value, 'python')!, /python-dotenv would expand/);
      else assert.equal(write('dotenv', [['A', value]], { ...style, dialect: 'python' }), `A=${written}\n`);
    });

  it('is refused where Node would read a carriage return as a newline', () => {
    assert.match(refused('dotenv', 'A', 'a\r')!, /carriage return/);
    assert.equal(refused('dotenv', 'A', 'a\n'), null);
  });

  it('is one line for docker, of at most 64 KiB', () => {
    assert.equal(write('docker', [['A', ' "x" #$y']], style), 'A= "x" #$y\n');
    for (const value of ['a\nb', 'a\r', '\0']) assert.match(refused('docker', 'A', value)!, /newline/);
    assert.equal(refused('docker', 'A', 'x'.repeat(65_533)), null);
    assert.match(refused('docker', 'A', 'x'.repeat(65_534))!, /a line that long/);
    assert.match(refused('docker', 'A', 'ö'.repeat(32_767))!, /a line that long/);
  });

  it('is JSON, whatever its name', () => {
    const pairs = values.map((value, at) => [`any name ${at}`, value] as const);
    assert.deepEqual(JSON.parse(write('json', pairs, style)), Object.fromEntries(pairs));
    assert.equal(write('json', [], style), '{}\n');
  });

  it('is a YAML string in double quotes, without characters that YAML does not let stand', () => {
    assert.equal(
      write('yaml', [['a b', 'x\n"\u0085\u2028\ufeff']], style),
      '"a b": "x\\n\\"\\u0085\\u2028\\ufeff"\n',
    );
    assert.equal(write('yaml', [], style), '{}\n');
  });

  it('is base64 in a Kubernetes Secret', () => {
    assert.equal(
      write(
        'kubernetes',
        [
          ['a.b', 'x'],
          ['empty', ''],
        ],
        { ...style, namespace: 'team' },
      ),
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: "app"\n  namespace: "team"\ntype: Opaque\ndata:\n  "a.b": eA==\n  "empty": ""\n',
    );
    assert.equal(
      write('kubernetes', [], style),
      'apiVersion: v1\nkind: Secret\nmetadata:\n  name: "app"\ntype: Opaque\ndata: {}\n',
    );
    assert.match(refused('kubernetes', 'a b', 'x')!, /a key must consist of/);
    assert.match(refused('kubernetes', 'x'.repeat(254), 'x')!, /a key must consist of/);
    assert.equal(refused('kubernetes', 'x'.repeat(253), 'x'), null);
  });

  it('stands between delimiters that nobody can guess, for a runner', () => {
    const [first, second] = [0, 1].map(() => write('github', [['A', 'x\ny']], style));
    const [, delimiter] = /^A<<(strongroom_[0-9a-f]{32})\nx\ny\n\1\n$/.exec(first!)!;
    assert.ok(!second!.includes(delimiter!));
    assert.match(refused('github', 'A', 'a\r')!, /carriage returns/);
  });

  for (const format of formats)
    it(`has a name that the format can write, or is refused by a name that is safe to print: ${format}`, () => {
      const isFree = ['json', 'yaml'].includes(format);
      assert.equal(refused(format, 'a b\u001b', 'x') === null, isFree);
      if (!isFree) assert.equal(refused(format, 'a b\u001b', 'x')!.includes('\u001b'), false);
    });

  it('is masked in the log of a runner line by line', () => {
    assert.equal(
      githubMasks(['one', 'two\r\nthree\n \n', '5%']),
      '::add-mask::one\n::add-mask::two\n::add-mask::three\n::add-mask::5%25\n',
    );
  });
});

describe('a name', () => {
  const variables: [name: string, isOne: boolean][] = [
    ...['A', '_', 'a1', 'PATH_2'].map((name): [string, boolean] => [name, true]),
    ...['', '1A', 'A-B', 'A B', 'A\n', 'Ä', 'A=B'].map((name): [string, boolean] => [name, false]),
  ];
  for (const [name, isOne] of variables)
    it(`${isOne ? 'is' : 'is not'} one of a variable: ${JSON.stringify(name)}`, () =>
      assert.equal(isVariable(name), isOne));

  const judged: [name: string, isUnsafe: boolean][] = [
    ...[
      'LD_PRELOAD',
      'ld_preload',
      'PATH',
      'HTTPS_PROXY',
      'NODE_OPTIONS',
      'GIT_SSH',
      'CC',
      'LD_LIBRARY_KEY',
      'SSH_ASKPASS',
    ].map((name): [string, boolean] => [name, true]),
    ...[
      'DATABASE_URL',
      'XPATH',
      'PATHS',
      'NODE_AUTH_TOKEN',
      'node_auth_token',
      'NODE_ENV',
      'GIT_PASSWORD',
      'SSH_PORT',
      'CCX',
    ].map((name): [string, boolean] => [name, false]),
  ];
  for (const [name, isUnsafe] of judged)
    it(`${isUnsafe ? 'changes' : 'does not change'} what is run: ${name}`, () => {
      assert.equal(changesWhatRuns(name), isUnsafe);
      const refuse = (allow: boolean) => () => refuseUnsafe(['A', name], { 'allow-unsafe-names': allow });
      assert.doesNotThrow(refuse(true));
      if (isUnsafe) assert.throws(refuse(false), { message: new RegExp(`^${name} changes what is run`) });
      else assert.doesNotThrow(refuse(false));
    });
});

async function masked(secrets: readonly Masked[], ...chunks: readonly (string | Buffer)[]): Promise<string> {
  const mask = maskFor(secrets);
  const shown = buffer(mask);
  for (const chunk of chunks) mask.write(Buffer.from(chunk as string));
  mask.end();
  return (await shown).toString('latin1');
}

describe('a mask', () => {
  const pem = `-----BEGIN KEY-----\r\n  MIIBVQIBADANBg\nshort\r\ntwelve-chars\nelevenchars\n-----END KEY-----\n`;
  const rows: [value: string, text: string, shown: string][] = [
    ['word', 'a word, words', 'a [secret A], [secret A]s'],
    ['abc', 'an abc', 'an abc'],
    ['éé', 'éé é', '[secret A] \xc3\xa9'],
    [' word\n', 'a word', 'a [secret A]'],
    ['ab"c\nd', '{"x":"ab\\"c\\nd"}', '{"x":"[secret A]"}'],
    ['a.b*', 'a.b* axbb', '[secret A] axbb'],
    [pem, pem, '[secret A]'],
    [pem, pem.trim(), '[secret A]'],
    [pem, 'log: MIIBVQIBADANBg', 'log: [secret A]'],
    [pem, 'log: twelve-chars', 'log: [secret A]'],
    [pem, 'log: elevenchars short', 'log: elevenchars short'],
    [pem, '-----BEGIN KEY-----', '-----BEGIN KEY-----'],
    ['one line of text', 'one line', 'one line'],
  ];
  for (const [value, text, shown] of rows)
    it(`shows ${JSON.stringify(shown.slice(0, 40))} for ${JSON.stringify(text.slice(0, 40))}`, async () =>
      assert.equal(await masked([{ name: 'A', value }], text), shown));

  it('of nothing passes everything on', async () => {
    assert.equal(await masked([], 'any', Buffer.from([0xff, 0])), 'any\xff\0');
    assert.equal(await masked([{ name: 'A', value: '' }], 'any'), 'any');
  });

  it('shows the same wherever what it reads is cut', async () => {
    const secrets = ['abab', 'ababc', 'babcd', 'cccc', 'defg', 'defgdefx'].map((value, at) => ({
      name: `${at}`,
      value,
    }));
    const texts = [
      'xababcdy',
      'abababcd',
      'ccccccc',
      'ababab',
      'ababcababcd',
      'babcababx',
      'ccababcc',
      'defgdef',
      'defgdefxdef',
    ];
    for (const text of texts) {
      const whole = leftmostLongest(secrets, text);
      assert.equal(await masked(secrets, text), whole);
      assert.equal(await masked(secrets, ...text), whole, `${text}, byte by byte`);
      for (let at = 1; at < text.length; at++)
        assert.equal(await masked(secrets, text.slice(0, at), text.slice(at)), whole, `${text} cut at ${at}`);
    }
  });

  it('holds back only what could be the beginning of a value', () => {
    const mask = maskFor([
      { name: 'A', value: 'value' },
      { name: 'B', value: 'a longer one' },
    ]);
    const after = (chunk: string) => {
      mask.write(chunk);
      return String(mask.read() ?? '');
    };
    assert.deepEqual(['some text', 'va', 'n', 'a value', 'val', 'ue', 'x'].map(after), [
      ...['some text', '', 'van', 'a [secret A]', '', '[secret A]', 'x'],
    ]);
  });
});

/** The slow way: at each byte, the longest value that begins there. */
function leftmostLongest(secrets: readonly Masked[], text: string): string {
  let shown = '';
  for (let at = 0; at < text.length; ) {
    const [found] = secrets
      .filter(({ value }) => text.startsWith(value, at))
      .sort((a, b) => b.value.length - a.value.length);
    shown += found === undefined ? text[at] : `[secret ${found.name}]`;
    at += found?.value.length ?? 1;
  }
  return shown;
}
