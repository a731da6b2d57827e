/** How the command line reads dates and durations, and what it finds suspicious in a value. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ago, durationIn, endOption, expiryInWords, sinceOption } from '../src/cli/terminal/dates.ts';
import { warningsFor } from '../src/cli/vault/value-warnings.ts';
import { readOptions, repeated } from '../src/service/settings/options.ts';

describe('dates and durations', () => {
  it('are read in every form that the help names, and in no other', () => {
    const { parse } = endOption('');
    assert.deepEqual(parse('never'), { at: null });
    assert.deepEqual(parse('2027-01-31'), { at: '2027-01-31T00:00:00.000Z' });
    assert.deepEqual(parse('2027-01-31T12:00:00Z'), { at: '2027-01-31T12:00:00.000Z' });
    assert.deepEqual(parse('2027-01-31T12:00+01:00'), { at: '2027-01-31T11:00:00.000Z' });
    const at = Date.parse(parse('30d')!.at!);
    assert.ok(Math.abs(at - Date.now() - 30 * 86_400_000) < 10_000);
    const since = Date.parse(sinceOption('').parse('12h')!);
    assert.ok(Math.abs(Date.now() - since - 12 * 3_600_000) < 10_000);
    assert.equal(sinceOption('').parse('2026-01-01'), '2026-01-01T00:00:00.000Z');
    // A time without a zone would be another moment on each machine.
    for (const text of [
      '',
      'soon',
      '30',
      '0d',
      '1w',
      '2027-02-30x',
      '2027-13-01',
      '2027-01-31T12:00:00',
      '1 d',
    ])
      for (const option of [endOption(''), sinceOption('')])
        assert.throws(() => option.parse(text), /must be/, text);
    assert.throws(() => sinceOption('').parse('never'), /must be a date/);
    assert.equal(durationIn('90s'), 90_000);
    assert.equal(durationIn('1000000d'), null);
  });

  it('are shown in their largest unit, and a date that is none as a dash', () => {
    const now = Date.parse('2026-06-01T00:00:00Z');
    const before = (milliseconds: number) => new Date(now - milliseconds).toISOString();
    assert.equal(ago(before(0), now), '0s ago');
    assert.equal(ago(before(59_999), now), '59s ago');
    assert.equal(ago(before(60_000), now), '1m ago');
    assert.equal(ago(before(86_400_000 * 400), now), '400d ago');
    assert.equal(ago(before(-5_000), now), '0s ago');
    assert.equal(ago('a name', now), '-');
    assert.equal(expiryInWords(null, now), 'does not expire');
    assert.equal(expiryInWords(before(3_600_000), now), 'expired 1h ago');
    assert.equal(expiryInWords(before(-3_600_000), now), 'expires in 1h');
    assert.equal(expiryInWords(before(0), now), 'expired 0s ago');
    assert.equal(expiryInWords('x', now), '-');
  });
});

describe('a flag that may be repeated', () => {
  const options = { tag: repeated('T', 'a tag', given => given) };
  it('keeps commas in its values, and takes lines from the environment', () => {
    assert.deepEqual(readOptions(options, ['--tag', 'a,b', '--tag=c'], {}).tag, ['a,b', 'c']);
    assert.deepEqual(readOptions(options, [], { STRONGROOM_TAG: 'a,b\nc' }).tag, ['a,b', 'c']);
    assert.deepEqual(readOptions(options, [], {}).tag, []);
  });
});

describe('a value', () => {
  const rows: readonly [value: string, ...warnings: RegExp[]][] = [
    ['plain'],
    ['two words, é 😀\ttab'],
    ['{"json": "text"}'],
    ['-----BEGIN X-----\nAAAA\n-----END X-----\n'],
    [''],
    ['"'],
    ['it’s "quoted" inside'],
    ['\ufeffmarked', /byte order mark/],
    ['zero\u200bwidth', /invisible/],
    ['soft\u00adhyphen', /invisible/],
    ['right\u202eto left', /invisible/],
    ['in\ufeffside', /invisible/],
    ['bell\u0007', /control/],
    ['escape\u001b[0m', /control/],
    ['no\u00a0break', /no-break/],
    ['hunter2\n', /one line that ends with a line break/],
    ['hunter2\r\n', /one line that ends with a line break/],
    [' leading', /begins with spaces/],
    ['\nleading', /begins with spaces/],
    ['trailing ', /ends with spaces/],
    ['trailing \n', /one line/, /ends with spaces/],
    ['two\nlines \n', /ends with spaces/],
    ['"quoted"', /in quotes/],
    ["'quoted'\n", /one line/, /in quotes/],
    ['""', /in quotes/],
  ];
  for (const [value, ...warnings] of rows)
    it(`${JSON.stringify(value)}: ${warnings.length === 0 ? 'no warning' : warnings.join(' ')}`, () => {
      const found = warningsFor(value);
      assert.equal(found.length, warnings.length, found.join());
      for (const [at, warning] of warnings.entries()) assert.match(found[at]!, warning);
      const text = value.replace(/[\W_]/g, '');
      assert.ok(text === '' || !found.join().includes(text));
    });

  it('of the largest size is examined in no time', () => {
    const size = 64 * 1024;
    const begun = process.cpuUsage();
    for (const value of [' '.repeat(size), `${' '.repeat(size)}x`, '"'.repeat(size), '\n'.repeat(size)])
      warningsFor(value);
    assert.ok(process.cpuUsage(begun).user < 1_000_000);
  });
});
