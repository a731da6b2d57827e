/** Suites that only use the store run on one engine, by turns; nothing is left out for good. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { engines, enginesInTurn, enginesVariable, turnOf } from './engines.ts';

describe('the engines of a suite', () => {
  const before = process.env[enginesVariable];
  after(() => {
    if (before === undefined) delete process.env[enginesVariable];
    else process.env[enginesVariable] = before;
  });

  it('are one of the two by turns, the same for a file in the whole run', () => {
    process.env[enginesVariable] = 'turn';
    const chosen = enginesInTurn(import.meta.url);
    assert.ok(chosen.length === 1 || chosen === engines); // Outside of a repository there are no turns.
    assert.deepEqual(enginesInTurn(import.meta.url), chosen);
  });

  it('change with the commit, and half of the files have each', () => {
    const names = Array.from({ length: 400 }, (_, at) => `file-${at}.test.ts`);
    for (const commit of ['55721bf', '9e358d2']) {
      const second = names.filter(name => turnOf(commit, name) === 1).length;
      assert.ok(second > 150 && second < 250, `${second} of 400`);
    }
    const changed = names.filter(name => turnOf('55721bf', name) !== turnOf('9e358d2', name)).length;
    assert.ok(changed > 150 && changed < 250, `${changed} of 400`);
  });

  it('are chosen by a variable', () => {
    for (const [text, expected] of [
      ['both', engines],
      ['sqlite', ['sqlite']],
      ['postgres', ['postgres']],
    ] as const) {
      process.env[enginesVariable] = text;
      assert.deepEqual(enginesInTurn(import.meta.url), expected);
    }
    process.env[enginesVariable] = 'oracle';
    assert.throws(() => enginesInTurn(import.meta.url), /must be both, sqlite or postgres/);
  });

  it('are both where a test writes to the database behind the service’s back', () => {
    for (const file of globSync('test/**/*.test.ts')) {
      const text = readFileSync(file, 'utf8');
      if (!/import \{[^}]*\bwrite\b[^}]*\} from '\.\/storage\.ts'/.test(text)) continue;
      assert.ok(!/\b(enginesInTurn|onEngines)\b/.test(text), `${file} runs on one engine by turns`);
    }
  });
});
