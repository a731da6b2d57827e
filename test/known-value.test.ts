/** Where a value is in a text: which places are one run, whether that is all of the value, and what beside it goes too. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KnownValue } from '../src/egress/known-value.ts';
import { isTooLong, scrubberOf } from '../src/egress/scrubbing.ts';

const twelve = 'q7xz2mb9ck4w';
const longer = 'q7xz2mb9ck4wt1pl8vr3';
const decimals = (text: string) => [...Buffer.from(text)].join('');
const base64 = (text: string) => Buffer.from(text).toString('base64');
const hex = (text: string) => Buffer.from(text).toString('hex');
/** Of letters that are no digits of any number. */
const other = (length: number) => 'z'.repeat(length);

/** Its runs, and how often the others had their turn. */
async function found(values: readonly string[], text: string) {
  const known = new KnownValue(values);
  let turns = 0;
  const runs = await known.runsIn(Buffer.from(text), async () => void turns++);
  const told = runs.map(
    ({ from, to, isWhole, isRagged }) =>
      `${from}-${to} ${isWhole ? 'whole' : 'part'}${isRagged ? ' ragged' : ''}`,
  );
  return { told, turns };
}

const long = Array.from({ length: 1_025 }, (_, at) => ((at * 7919) % 1_000_003).toString(36).at(-1)).join('');
const [head, tail] = [long.slice(0, 512), long.slice(-512)];

describe('the runs of a value', () => {
  const rows: [what: string, values: readonly string[], text: string, told: readonly string[]][] = [
    ['nothing of it', [longer], other(40), []],
    ['nothing at all', [longer], '', []],
    ['all of it', [longer], `-${longer}-`, ['1-21 whole']],
    ['a part', [longer], `-${longer.slice(3, 17)}-`, ['1-15 part']],
    ['twice, one behind the other', [twelve], twelve + twelve, ['0-24 whole']],
    ['twice, with a letter between', [twelve], `${twelve}z${twelve}`, ['0-12 whole', '13-25 whole']],
    ['a part between two', [longer], longer + longer.slice(4, 16) + longer, ['0-52 part']],
    ['a part behind it', [longer], longer + longer.slice(0, 12), ['0-32 part']],
    ['hex beside letters', [twelve], `z${hex(twelve)}z`, ['1-25 whole']],
    ['half of it in hex', [longer], `z${hex(longer).slice(0, 24)}z`, ['1-25 part']],
    ['less than a window in hex', [longer], `z${hex(longer).slice(0, 23)}z`, []],
    ['bytes in base64', [twelve], `z ${base64(twelve)}`, ['2-18 whole ragged']],
    ['base64 before another form', [twelve], base64(twelve) + decimals(twelve), ['0-46 whole ragged']],
    ['another form before base64', [twelve], decimals(twelve) + base64(twelve), ['0-46 whole ragged']],
    ['decimals of the head of a long one', [long], decimals(head), [`0-${decimals(head).length} part`]],
    [
      'decimals of its head and tail',
      [long],
      decimals(head) + decimals(tail),
      [`0-${decimals(head + tail).length} part`],
    ],
    // What is one value in hex and another as it is has the shorter of both windows, whichever comes first.
    ['a part of the other', [twelve, hex(twelve)], `z${hex(twelve).slice(2, 15)}z`, ['1-14 part']],
    ['a part of the one', [hex(twelve), twelve], `z${hex(twelve).slice(2, 15)}z`, ['1-14 part']],
    [
      'a value that contains another in base64',
      [twelve, `zz${base64(twelve)}zz`],
      `-zz${base64(twelve)}zz-`,
      ['1-21 whole'],
    ],
    ['a whole value that is a piece of a longer one', [head, long], decimals(head), ['0-whole']],
  ];
  for (const [what, values, text, told] of rows)
    it(`are told: ${what}`, async () => {
      const expected = told.map(one => one.replace('0-whole', `0-${text.length} whole`));
      assert.deepEqual(await found(values, text), { told: expected, turns: 0 });
    });

  const turned: [what: string, text: string, runs: number, turns: number][] = [
    ['8,192 letters', other(8_192), 0, 0],
    ['one more', other(8_193), 0, 1],
    ['16,384', other(16_384), 0, 1],
    ['one more than that', other(16_385), 0, 2],
    ['a value in the middle of the first 8,192 and the next', other(8_186) + twelve, 1, 1],
    ['a value in hex there', other(8_180) + hex(twelve), 1, 1],
    ['a value that begins there', other(8_192) + twelve, 1, 1],
    ['999 runs', `${twelve}z`.repeat(999), 999, 1],
    ['1,000 runs', `${twelve}z`.repeat(1_000), 1_000, 2],
    ['1,999 runs', `${twelve}z`.repeat(1_999), 1_999, 4],
    ['2,000 runs', `${twelve}z`.repeat(2_000), 2_000, 5],
  ];
  for (const [what, text, runs, turns] of turned)
    it(`let others have their turn: ${what}`, async () => {
      const { told, turns: taken } = await found([twelve], text);
      assert.deepEqual([told.length, taken], [runs, turns]);
    });

  it('let others have their turn before each form that is looked for in a run of more than 8,192', async () => {
    const sixteen = `${twelve}1234`;
    assert.equal((await found([sixteen], sixteen.repeat(512))).turns, 0);
    assert.ok((await found([sixteen], `${sixteen.repeat(512)}${sixteen}`)).turns > 20);
  });

  it('take with them what belongs to the value', () => {
    const edges = (value: string, text: string, isRagged: boolean) => {
      const from = text.indexOf(twelve);
      const run = { from, to: from + twelve.length, isWhole: true, isRagged };
      const [first, end] = new KnownValue([value]).edgesOf(Buffer.from(text), run);
      return text.slice(first, end);
    };
    const dressed = `<-${twelve}!?`;
    for (const [value, text, isRagged, expected] of [
      [twelve, `==${twelve}==`, false, twelve],
      [dressed, `..${dressed}..`, false, dressed],
      [dressed, dressed, false, dressed],
      [dressed, `.-${twelve}!.`, false, twelve],
      [dressed, `-${twelve}!`, false, twelve],
      [`ghp_${twelve}`, `"ghp_${twelve}"`, false, `ghp_${twelve}`],
      [twelve, `abcd${twelve}efgh`, true, `bcd${twelve}efg`],
      [twelve, `.cd${twelve}ef.`, true, `cd${twelve}ef`],
      [twelve, `+/_${twelve}-==.`, true, `+/_${twelve}-==`],
      [twelve, `"${twelve}"`, true, twelve],
      [twelve, twelve, true, twelve],
    ] as const)
      assert.equal(edges(value, text, isRagged), expected, text);
  });
});

describe('a text', () => {
  const { scrub, partsIn } = scrubberOf([longer]);
  const hidden = (text: string) => text.replace(/./g, char => `&#x000${char.charCodeAt(0).toString(16)};`);
  const rows: [what: string, text: string, shown: string | null, kept: string | null, parts: number][] = [
    ['of nothing', '', '', null, 0],
    ['without it', other(30), other(30), null, 0],
    ['with it', `a ${longer} b`, 'a [redacted] b', null, 0],
    ['with it twice', `${longer}.z${longer}`, '[redacted].z[redacted]', null, 0],
    ['with it in base64 twice', `${base64(longer)} ${base64(longer)}`, '[redacted] [redacted]', null, 0],
    ['with an escape beside it', `%20${longer}`, '%20[redacted]', null, 0],
    ['with all of it behind escapes', hidden(longer), null, 'escaped', 0],
    ['with a part behind escapes', hidden(longer.slice(0, 12)), null, 'part', 1],
    ['with a part', longer.slice(0, 12), null, 'part', 1],
    [
      'with a part, and all of it behind escapes',
      `${longer.slice(0, 12)}z${hidden(longer)}`,
      null,
      'part',
      2,
    ],
    [
      'with all of it, and a part behind escapes',
      `${longer}z${hidden(longer.slice(0, 12))}`,
      null,
      'part',
      2,
    ],
    ['with guesses of five', `${longer.slice(0, 12)} zz q7xz2 zz 8vr3z zz pl8vr`, null, 'part', 3],
    ['with guesses that are no part', 'q7xz2 zz pl8vr', 'q7xz2 zz pl8vr', null, 0],
  ];
  for (const [what, text, shown, kept, parts] of rows)
    it(`${what}: ${kept ?? 'is shown'}`, async () => {
      const scrubbed = await scrub(Buffer.from(text));
      assert.deepEqual(
        [scrubbed.bytes.toString(), scrubbed.redacted, scrubbed.kept, scrubbed.parts],
        [shown ?? text, (shown ?? '').split('[redacted]').length - 1, kept, parts],
      );
      // All of it counts too where an agent wrote it.
      assert.equal(await partsIn(Buffer.from(text)), countOf(text, parts), 'parts');
    });

  function countOf(text: string, parts: number): number {
    if (parts > 0) return parts;
    const whole = [longer, base64(longer), hidden(longer)];
    return Math.max(...whole.map(one => text.split(one).length - 1));
  }

  it('lets others have their turn while a thousand places of it are redacted', async () => {
    for (const [count, turns] of [
      [999, 1],
      [1_000, 3],
    ] as const) {
      let taken = 0;
      const { redacted } = await scrubberOf([twelve]).scrub(
        Buffer.from(`${twelve}z`.repeat(count)),
        async () => void taken++,
      );
      assert.deepEqual([redacted, taken], [count, turns]);
    }
  });

  it('is looked through whoever waits, and without any value', async () => {
    assert.equal(await partsIn(Buffer.from(other(10_000) + longer)), 1);
    const text = Buffer.from(`${other(10_000)}%20`);
    const { scrub: look, partsIn: count, size } = scrubberOf([]);
    assert.deepEqual(await look(text), { bytes: text, redacted: 0, kept: null, parts: 0 });
    assert.deepEqual([await count(text), size], [0, 0]);
  });

  it('is looked through for a value of 16 KiB at most', () => {
    assert.deepEqual([isTooLong('x'.repeat(16_384)), isTooLong('x'.repeat(16_385))], [false, true]);
    assert.deepEqual([isTooLong('ü'.repeat(8_192)), isTooLong('ü'.repeat(8_193))], [false, true]);
  });
});
