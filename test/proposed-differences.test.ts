/** What is shown of a proposed change, without its value. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { differenceOf } from '../src/domain/resources/differences.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';

const rowOf = (said: Partial<ResourceRow> = {}) =>
  ({
    type: 'secret',
    name: 'TOKEN',
    content_type: 'text/plain',
    enabled: 1,
    activation_date: null,
    expiration_date: null,
    attributes: '{}',
    ...said,
  }) as ResourceRow;
const stated = (said: Partial<ResourceRow> = {}, description = '', tags = {}) => ({
  row: rowOf(said),
  labels: { tags, description },
});

describe('a proposed change', () => {
  it('of nothing but the value has no difference', () =>
    assert.deepEqual(differenceOf(stated(), stated({ version: 2 })), []));

  it('shows every field that differs, before and after', () => {
    const before = stated({}, 'old', { team: 'a', gone: 'x' });
    const after = stated({ name: 'OTHER', enabled: 0, expiration_date: 1_000 }, '', { team: 'b' });
    assert.deepEqual(differenceOf(before, after), [
      { field: 'name', before: 'TOKEN', after: 'OTHER' },
      { field: 'note', before: 'old', after: null },
      { field: 'tags.team', before: 'a', after: 'b' },
      { field: 'tags.gone', before: 'x', after: null },
      { field: 'enabled', before: null, after: 'false' },
      { field: 'expiration_date', before: null, after: '1970-01-01T00:00:01.000Z' },
    ]);
  });

  it('of a vault shows its description', () =>
    assert.deepEqual(differenceOf(stated({ type: 'vault' }), stated({ type: 'vault' }, 'new')), [
      { field: 'description', before: null, after: 'new' },
    ]));

  it('shows nothing that is derived from a value, or that tells what is referred to', () => {
    const attributes = JSON.stringify({
      public_pem: 'pem',
      references: ['id'],
      key_type: 'EC',
      alt: ['a', 'b'],
    });
    assert.deepEqual(differenceOf(stated({ type: 'key' }), stated({ type: 'key', attributes })), [
      { field: 'key_type', before: null, after: 'EC' },
      { field: 'alt', before: null, after: 'a, b' },
    ]);
  });
});
