/** Audit entries and events as they are made, and rows as they are checked: each by itself. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { entriesOf, entryOf } from '../src/domain/kernel/audit-entries.ts';
import { type EventSubject, eventOf, webhookSubject } from '../src/domain/kernel/events.ts';
import { rowCheckWith } from '../src/domain/kernel/row-check.ts';
import type { Stamps } from '../src/domain/kernel/stamps.ts';
import type { StampedRow } from '../src/store/integrity/stamped-rows.ts';

const by = {
  kind: 'api-key',
  id: 'key',
  name: 'Key',
  organizationId: 'org',
  origin: { address: '192.0.2.1', userAgent: 'agent', requestId: 'request' },
};
const subject = { type: 'secret', id: 's', name: 'S', vaultId: 'v', revision: 4 };

describe('an audit entry', () => {
  const entry = {
    organization_id: 'org',
    actor: { kind: 'api-key', id: 'key', name: 'Key' },
    action: 'secret.updated',
    outcome: 'allowed',
    subject: { type: 'secret', id: 's', name: 'S' },
    revision: 4,
    vault_id: 'v',
    ip_address: '192.0.2.1',
    user_agent: 'agent',
    request_id: 'request',
    details: {},
  };

  it('says who did what to what, and nothing else of it', () => {
    assert.deepEqual(entriesOf(by, 'secret.updated', [subject]), [entry]);
    const other = { ...subject, verb: 'secret.deleted', details: { a: 1 }, vaultId: undefined } as const;
    assert.deepEqual(entriesOf(by, 'secret.updated', [other, subject]), [
      { ...entry, action: 'secret.deleted', details: { a: 1 }, vault_id: null },
      entry,
    ]);
  });

  it('of nothing in particular, and of no organization, says so', () => {
    const { details, ...made } = entryOf({ ...by, organizationId: '' }, 'x', 'denied', null, null, { a: 1 });
    assert.deepEqual(
      [made.organization_id, made.subject, made.revision, made.vault_id, made.outcome, details],
      [null, null, null, null, 'denied', { a: 1 }],
    );
  });

  it('of a restricted access key names its restrictions', () => {
    const detailsWith = (narrowing: { id: string; restrictions: [] } | null) =>
      entryOf({ ...by, narrowing }, 'x', 'allowed', subject, 1, { a: 1 }).details;
    assert.deepEqual(detailsWith(null), { a: 1 });
    assert.deepEqual(detailsWith({ id: 'n', restrictions: [] }), { a: 1, narrowing: 'n' });
  });
});

describe('an event', () => {
  const about: EventSubject = { id: 's', type: 'secret', name: 'S', organization_id: 'org', vault_id: 'v' };
  const told = (more: Partial<EventSubject>) =>
    eventOf('resource.updated', { ...about, ...more }, Date.parse('2026-01-01T00:00:00Z'), () => 'id');
  const data = { id: 's', type: 'secret', name: 'S', vault_id: 'v' };

  const rows: [Partial<EventSubject>, object][] = [
    [{}, {}],
    [{ version: 3 }, { version: 3 }],
    [{ version: 0 }, {}],
    [{ expirationDate: 0 }, { expiration_date: '1970-01-01T00:00:00.000Z' }],
    [{ reason: 'x' as NonNullable<EventSubject['reason']> }, { reason: 'x' }],
  ];
  for (const [more, shown] of rows)
    it(`with ${JSON.stringify(more)} tells that, and no more`, () => {
      const { payload, ...facts } = told(more);
      assert.deepEqual(JSON.parse(payload), {
        type: 'resource.updated',
        timestamp: '2026-01-01T00:00:00.000Z',
        data: { ...data, ...shown },
      });
      assert.deepEqual(facts, {
        id: 'id',
        organization_id: 'org',
        vault_id: 'v',
        resource_id: 's',
        type: 'resource.updated',
        created_at: Date.parse('2026-01-01T00:00:00Z'),
      });
    });

  it('of a webhook tells of its row, in no vault', () => {
    assert.deepEqual(webhookSubject(about as never), { ...about, type: 'webhook', vault_id: null });
  });
});

describe('a stored row', () => {
  const vouched = (row: { readonly isEdited?: boolean }) => {
    if (row.isEdited) throw new Error('edited');
  };
  const stamps = new Proxy({}, { get: (_, name) => (/^believe/.test(String(name)) ? vouched : { vouched }) });
  const isSound = rowCheckWith(stamps as Stamps);
  const rows: [object, boolean][] = [
    [{ name: 'Some Name' }, true],
    [{ name: 'Some Name', name_search: 'some name' }, true],
    [{ name: 'Some Name', name_search: 'Some Name' }, false],
    [{ name: 'Some Name', name_search: 'another' }, false],
    [{ name: 'Some Name', name_search: 'some name', isEdited: true }, false],
    [{ isEdited: true }, false],
  ];
  for (const [row, expected] of rows)
    it(`${JSON.stringify(row)} is ${expected ? '' : 'not '}sound`, () =>
      assert.equal(isSound({ table: 'resources', row: row as unknown as StampedRow } as never), expected));
});
