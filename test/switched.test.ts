/** Where it is stored that a resource is enabled, so that an earlier release takes every template for a disabled secret. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isEnabled, switched } from '../src/store/schema/enabled.ts';

describe('whether a resource is enabled', () => {
  for (const isOn of [true, false]) {
    it(`is in the attributes of a template that is ${isOn ? 'on' : 'off'}, and its column says that it is not`, () => {
      const stored = switched(isOn, true, '{"kind":"template"}');
      assert.equal(stored.enabled, 0);
      assert.equal(isEnabled(stored), isOn);
      assert.equal((JSON.parse(stored.attributes) as { kind: string }).kind, 'template');
    });

    it(`is in the column of a value that is ${isOn ? 'on' : 'off'}, also of one that was a template`, () => {
      for (const attributes of ['{}', switched(!isOn, true, '{}').attributes]) {
        const stored = switched(isOn, false, attributes);
        assert.deepEqual(stored, { enabled: isOn ? 1 : 0, attributes: '{}' });
        assert.equal(isEnabled(stored), isOn);
      }
    });
  }
});
