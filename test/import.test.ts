/** What the dashboard makes of pasted and dropped text, and how it compares two values. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseFile, parseText } from '../web/src/import/parse.ts';
import { differences } from '../web/src/pages/vaults/differences.ts';

const pairs = (text: string) =>
  parseText(text).items.map(item =>
    item.kind === 'secret' ? [item.name, item.value] : [item.kind, item.name],
  );

test('a .env file: quotes, comments, export, escapes and values over several lines', () => {
  const text = [
    '# heading',
    'PLAIN=one # a comment',
    'export EXPORTED = two',
    'DOUBLE="three # not a comment\\nnext"',
    "SINGLE='four \\n stays'",
    'EMPTY=',
    'LONG="line 1',
    'line 2"',
    'URL=postgres://a:b#c@host/?x=1',
  ].join('\n');
  assert.deepEqual(pairs(text), [
    ['PLAIN', 'one'],
    ['EXPORTED', 'two'],
    ['DOUBLE', 'three # not a comment\nnext'],
    ['SINGLE', 'four \\n stays'],
    ['EMPTY', ''],
    ['LONG', 'line 1\nline 2'],
    ['URL', 'postgres://a:b#c@host/?x=1'],
  ]);
});

test('lines that are no assignment are named by their number, never repeated', () => {
  const { items, problems } = parseText('A=1\nhunter2 hunter2\n');
  assert.equal(items.length, 1);
  assert.deepEqual(problems, ['Skipped line 2: not in the form NAME=value.']);
});

test('JSON: an object, a list of names and values, and what is no string', () => {
  assert.deepEqual(pairs('{"A":"1","B":{"c":2}}'), [
    ['A', '1'],
    ['B', '{"c":2}'],
  ]);
  assert.deepEqual(pairs('[{"name":"A","value":"1"},{"key":"B","value":"2"}]'), [
    ['A', '1'],
    ['B', '2'],
  ]);
  assert.deepEqual(parseText('{"A":').problems, ['This looks like JSON but can’t be parsed.']);
});

test('PEM: keys one by one, certificates as one chain', () => {
  const block = (label: string) => `-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----`;
  const text = [block('CERTIFICATE'), block('PRIVATE KEY'), block('CERTIFICATE')].join('\n');
  const { items } = parseText(text, 'site');
  assert.deepEqual(
    items.map(({ kind, name }) => [kind, name]),
    [
      ['key', 'site'],
      ['certificate', 'site'],
    ],
  );
  assert.equal((items[1] as { pem: string }).pem.match(/BEGIN/g)!.length, 2);
});

test('a PKCS#12 file is known by its ending or its first byte, and named after itself', () => {
  const bytes = new Uint8Array([0x30, 0x82, 1, 2]).buffer;
  const { items } = parseFile({ name: 'folder/site.p12', bytes });
  assert.deepEqual(items, [{ kind: 'pkcs12', name: 'site', base64: 'MIIBAg==' }]);
});

test('a comparison holds both values whole, whatever they are', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 }).map(lines => lines.join('\n'));
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = differences(before, after);
      const of = (kind: string) =>
        lines
          .filter(line => line.kind !== kind)
          .map(line => line.text)
          .join('\n');
      assert.equal(of('come'), before);
      assert.equal(of('gone'), after);
    }),
  );
});
