/** The text of a template: what it parses to, what it refuses, and that every text it accepts is written as it was. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import {
  formatTemplate,
  type NamedReference,
  parseTemplate,
  type TemplatePart,
} from '../src/contract/templates.ts';
import { fixedRandom } from './fixed-random.ts';

const here = (name: string): NamedReference => ({ vault: null, name });
const there = (vault: string, name: string): NamedReference => ({ vault, name });

describe('the text of a template', () => {
  const accepted: readonly (readonly [string, readonly TemplatePart<NamedReference>[]])[] = [
    ['', []],
    ['plain $ { } $$ %41 text', ['plain $ { } $$ %41 text']],
    ['${A}', [here('A')]],
    ['a${A}b${A}', ['a', here('A'), 'b', here('A')]],
    [
      'postgres://${DB_USER}:${vault:shared/DB_PASSWORD}@db',
      ['postgres://', here('DB_USER'), ':', there('shared', 'DB_PASSWORD'), '@db'],
    ],
    ['$${A}', ['${A}']],
    ['$$${A}', ['$${A}']],
    ['$${A}${A}', ['${A}', here('A')]],
    ['${a%7Db%25c}', [here('a}b%c')]],
    ['${vault:a%2Fb/c/d}', [there('a/b', 'c/d')]],
    ['${vault%3Aa/b}', [here('vault:a/b')]],
    ['${a b}', [here('a b')]],
    ['${${A}', [here('${A')]],
    ['${e\u0301}', [here('\u00e9')]],
  ];
  for (const [text, parts] of accepted) {
    it(`${JSON.stringify(text)} has ${parts.length} parts`, () => {
      assert.deepEqual(parseTemplate(text), parts);
      assert.deepEqual(parseTemplate(formatTemplate(parts)), parts, 'written again');
    });
  }

  const refused = [
    '${',
    '${A',
    '${}',
    '${vault:x}',
    '${vault:/x}',
    '${vault:x/}',
    '${%}',
    '${%4}',
    '${%ff}',
    '${a%00b}',
  ];
  for (const text of refused) {
    it(`${JSON.stringify(text)} is refused, and not repeated`, () => {
      assert.throws(
        () => parseTemplate(`secret text ${text}`),
        (error: unknown) =>
          error instanceof Failure && error.field === 'value' && !error.reason.includes('text'),
      );
    });
  }

  it('a name has at most 255 characters', () => {
    assert.equal(parseTemplate(`\${${'n'.repeat(255)}}`).length, 1);
    assert.throws(() => parseTemplate(`\${${'n'.repeat(256)}}`), Failure);
  });

  it('has a bound on references', () => {
    assert.equal(parseTemplate('${A}'.repeat(32)).length, 32);
    assert.throws(() => parseTemplate('${A}'.repeat(33)), Failure);
  });

  it('a reference that must not be shown is written as one that is refused', () => {
    assert.equal(formatTemplate(['a', null]), 'a${}');
  });

  it('made of any pieces is refused, or is the same after it is written; a plain text never becomes a reference', () => {
    const random = fixedRandom('templates');
    const pieces = [
      '$',
      '{',
      '}',
      '${',
      '$${',
      '%',
      '%25',
      '%7D',
      '/',
      'vault:',
      'A',
      'b',
      ' ',
      '\n',
      '\u00e9',
      '\ud83d\ude00',
    ];
    let sound = 0;
    for (let run = 0; run < 20_000; run++) {
      const text = [...random(1 + (random(1)[0]! % 12))].map(byte => pieces[byte % pieces.length]).join('');
      let parts: TemplatePart<NamedReference>[];
      try {
        parts = parseTemplate(text);
      } catch (error) {
        assert.ok(error instanceof Failure, text);
        continue;
      }
      sound++;
      assert.deepEqual(parseTemplate(formatTemplate(parts)), parts, JSON.stringify(text));
      const plain = parts.map(part => (typeof part === 'string' ? part : 'value')).join('');
      const escaped = text.split('$${').length - 1;
      assert.ok(plain.split('${').length - 1 <= escaped, `each was written as $\${: ${JSON.stringify(text)}`);
    }
    assert.ok(sound > 2_000, String(sound));
  });
});
