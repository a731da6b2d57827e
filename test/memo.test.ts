/** Functions that remember their results compute each of them once, and keep a limited number. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { once, remembering } from '../src/base/memo.ts';

describe('a function that remembers its results', () => {
  it('computes the only one once', () => {
    let made = 0;
    const next = once(() => ++made);
    assert.deepEqual([next(), next(), made], [1, 1, 1]);
  });

  it('computes one for each key once, and forgets all of them when there is one more than it keeps', () => {
    const made: string[] = [];
    const doubled = remembering(2, (text: string) => {
      made.push(text);
      return text + text;
    });
    assert.deepEqual(['a', 'b', 'a', 'b'].map(doubled), ['aa', 'bb', 'aa', 'bb']);
    assert.deepEqual(made, ['a', 'b']);
    assert.equal(doubled('c'), 'cc');
    assert.equal(doubled('c'), 'cc');
    assert.equal(doubled('a'), 'aa');
    assert.deepEqual(made, ['a', 'b', 'c', 'a']);
  });
});
