/** Dates as people type them in the dashboard. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays, addMonths, momentIn, textOf, weeksAround } from '../web/src/ui/dates.ts';

const now = new Date(2026, 10, 17, 9, 30);
const typed = (text: string) => momentIn(text, '23:59', now);

test('a date is understood as it is written, with or without a time', () => {
  for (const text of ['2026-12-17', '17 Dec 2026', '17 december 2026', '17.12.2026', ' 17. Dec. 2026 '])
    assert.equal(typed(text), '2026-12-17T23:59', text);
  for (const text of ['2026-12-17T14:30', '2026-12-17 14:30', '17 Dec 2026, 14:30', '17.12.2026 14.30'])
    assert.equal(typed(text), '2026-12-17T14:30', text);
});

test('so many days, weeks, months or years from now', () => {
  assert.equal(typed('in 30 days'), '2026-12-17T09:30');
  assert.equal(typed('2w'), '2026-12-01T09:30');
  assert.equal(typed('1 year'), '2027-11-17T09:30');
});

test('what is no date is none, nor is a day that a month doesn’t have', () => {
  for (const text of [
    '',
    'soon',
    '31 Feb 2026',
    '2026-13-01',
    '2026-02-29',
    '2026-12-17 25:00',
    '17 Foo 2026',
  ])
    assert.equal(typed(text), null, text);
});

test('what is shown is understood again', () => {
  assert.equal(typed(textOf('2026-12-07T04:05')), '2026-12-07T04:05');
});

test('months end where they end, and weeks begin on Monday', () => {
  assert.equal(addMonths('2026-01-31', 1), '2026-02-28');
  assert.equal(addMonths('2024-02-29', 12), '2025-02-28');
  assert.equal(addMonths('2026-01-15', -1), '2025-12-15');
  assert.equal(addDays('2026-12-31', 1), '2027-01-01');
  assert.deepEqual(weeksAround('2026-11-17')[0]!.slice(0, 2), ['2026-10-26', '2026-10-27']);
});
