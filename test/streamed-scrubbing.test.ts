/** A text that is scrubbed while it arrives: however it is cut into pieces, the same comes out. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Passable, scrubberOf } from '../src/egress/scrubbing.ts';
import { ScrubbedStream, ValueFound } from '../src/egress/streamed-scrubbing.ts';
import { encodings, tracesIn, value } from './uses-world.ts';

const scrubber = scrubberOf([value]);
const turn = async () => {};

interface Passed {
  /** What was passed on before the end, and with it. */
  readonly text: string;
  readonly found: ValueFound | null;
}

async function passed(text: Buffer, cuts: readonly number[], pauses = false): Promise<Passed> {
  const stream = new ScrubbedStream(scrubber, turn);
  const pieces: Buffer[] = [];
  const ends = [...cuts].map(cut => Math.round(cut * text.length)).sort((a, b) => a - b);
  try {
    let from = 0;
    for (const end of [...ends, text.length]) {
      const piece = text.subarray(from, end);
      pieces.push(await (pauses ? stream.addLines(piece) : stream.add(piece)));
      from = end;
    }
    pieces.push(await stream.end());
    return { text: Buffer.concat(pieces).toString('latin1'), found: null };
  } catch (error) {
    if (!(error instanceof ValueFound)) throw error;
    return { text: Buffer.concat(pieces).toString('latin1'), found: error };
  }
}

const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 });
const filler = 'Some ordinary text, line after line.\n'.repeat(600);

describe('a text that is scrubbed while it arrives', () => {
  it('is what it would be as a whole, wherever it is cut', async () => {
    const text = Buffer.from(`${filler}${value} in the middle, ${value}${filler}${value}`);
    const { bytes } = await scrubber.scrub(text);
    await fc.assert(
      fc.asyncProperty(cuts, async where => {
        const { text: got, found } = await passed(text, where);
        assert.equal(found, null);
        assert.equal(got, bytes.toString('latin1'));
      }),
      { numRuns: 25 },
    );
  });

  it('shows no part of the value in any form, wherever it is cut', async () => {
    const forms = Object.entries(encodings).map(
      ([name, write]) => [name, Buffer.from(write(value))] as const,
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...forms), cuts, async ([name, form], where) => {
        const text = Buffer.concat([Buffer.from(filler), form, Buffer.from(` ${filler}`)]);
        assert.deepEqual(tracesIn((await passed(text, where)).text), [], name);
      }),
      { numRuns: 60 },
    );
  });

  it('gives out complete lines when the sender pauses, and keeps what follows the last one', async () => {
    const stream = new ScrubbedStream(scrubber, turn);
    assert.equal((await stream.addLines(Buffer.from('data: one\n\nda'))).toString(), 'data: one\n\n');
    assert.equal((await stream.addLines(Buffer.from(`ta: ${value}\n\n`))).toString(), 'data: [redacted]\n\n');
    assert.equal((await stream.end()).toString(), '');
  });

  it('ends at a part of the value, and says how many there seem to be', async () => {
    const { text, found } = await passed(Buffer.from(`${filler}${value.slice(0, 20)} ${filler}`), [0.1, 0.9]);
    assert.ok(found!.parts >= 1);
    assert.deepEqual(tracesIn(text), []);
  });

  it('is not waited for without end', async () => {
    const endless: Passable = { clean: Buffer.alloc(0), length: 0, redacted: 0, parts: null };
    const stream = new ScrubbedStream({ passable: async () => endless }, turn);
    assert.equal((await stream.add(Buffer.alloc(1024 * 1024))).length, 0);
    await assert.rejects(stream.add(Buffer.alloc(1)), ValueFound);
  });
});
