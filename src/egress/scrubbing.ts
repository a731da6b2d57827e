/**
 * Takes a value out of an answer, in whichever common form it is written there (`value-forms.ts`), in either case and
 * with anything between its characters that is neither letter nor digit. Only the whole value is redacted. An answer
 * that contains a part of it is not shown at all, and counted by the caller: what disappears of a text that an agent
 * chose would tell it which characters are right, one after the other. What an upstream encodes in a way of its own is not
 * found: which upstreams are asked is for the rule to say. An answer takes time by its length alone: it is looked through
 * once, closely only where a form begins, in slices between which others get their turn.
 */
import { unescapedViews } from './escapes.ts';
import { KnownValue, mostRuns, type Run, type Turn } from './known-value.ts';

export { isRecognisable } from './value-forms.ts';

/** Of a value, in bytes: its forms take memory, and time to be worked out. */
const longest = 16 * 1024;
const mark = Buffer.from('[redacted]');
/**
 * In characters. One who knows some of a value can write thousands of guesses at the next ones into one text. Where one of
 * them is right, all places that contain so much of the value count as guesses; until then they count for nothing, and
 * nothing depends on them.
 */
const near = 5;
export interface Scrubbed {
  readonly bytes: Buffer;
  /** How many places were redacted. */
  readonly redacted: number;
  /** Where it can't be redacted: it contains a part of the value, or all of it behind escapes. None of it may be shown. */
  readonly kept: 'part' | 'escaped' | null;
  /** How many places look like parts of the value, where one is. */
  readonly parts: number;
}

export interface Scrubber {
  scrub(bytes: Buffer, turn?: Turn): Promise<Scrubbed>;
  /** How many parts of the value seem to be in it; 0 unless there is one, or all of it. */
  partsIn(bytes: Buffer, turn?: Turn): Promise<number>;
  /** What it takes of memory, in bytes. */
  readonly size: number;
}

/** Whether a value is too long to be looked for. */
export function isTooLong(value: string): boolean {
  return Buffer.byteLength(value, 'utf8') > longest;
}

const noTurn: Turn = async () => {};

export function scrubberOf(values: readonly string[]): Scrubber {
  if (values.length === 0) {
    const scrub = async (bytes: Buffer) => ({ bytes, redacted: 0, kept: null, parts: 0 });
    return { scrub, partsIn: async () => 0, size: 0 };
  }
  const known = new KnownValue(values);
  return {
    scrub: async (bytes, turn = noTurn) => {
      const scrubbed = await scrub(bytes, known, turn);
      const parts = scrubbed.kept === 'part' ? await guessesIn(bytes, values, turn) : 0;
      return { ...scrubbed, parts };
    },
    partsIn: async (bytes, turn = noTurn) =>
      (await isIn(bytes, known, turn)) ? guessesIn(bytes, values, turn) : 0,
    size: known.size,
  };
}

async function isIn(bytes: Buffer, known: KnownValue, turn: Turn): Promise<boolean> {
  if ((await known.runsIn(bytes, turn)).length > 0) return true;
  for await (const view of unescapedViews(bytes, turn))
    if ((await known.runsIn(view, turn)).length > 0) return true;
  return false;
}

async function guessesIn(bytes: Buffer, values: readonly string[], turn: Turn): Promise<number> {
  const known = new KnownValue(values, near);
  let most = (await known.runsIn(bytes, turn)).length;
  for await (const view of unescapedViews(bytes, turn))
    most = Math.max(most, (await known.runsIn(view, turn)).length);
  return Math.max(1, most);
}

async function scrub(bytes: Buffer, known: KnownValue, turn: Turn): Promise<Omit<Scrubbed, 'parts'>> {
  const runs = await known.runsIn(bytes, turn);
  const isPart = runs.some(({ isWhole }) => !isWhole);
  const clean = isPart ? bytes : await redactedIn(bytes, runs, known, turn);
  for await (const view of unescapedViews(clean, turn)) {
    const hidden = await known.runsIn(view, turn);
    if (hidden.length === 0) continue;
    return { bytes, redacted: 0, kept: hidden.every(({ isWhole }) => isWhole) ? 'escaped' : 'part' };
  }
  return isPart ? { bytes, redacted: 0, kept: 'part' } : { bytes: clean, redacted: runs.length, kept: null };
}

async function redactedIn(
  bytes: Buffer,
  runs: readonly Run[],
  known: KnownValue,
  turn: Turn,
): Promise<Buffer> {
  if (runs.length === 0) return bytes;
  const parts: Buffer[] = [];
  let next = 0;
  for (const [number, run] of runs.entries()) {
    if (number % mostRuns === mostRuns - 1) await turn();
    const [from, to] = known.edgesOf(bytes, run);
    parts.push(bytes.subarray(next, Math.max(next, from)), mark);
    next = Math.max(next, to);
  }
  parts.push(bytes.subarray(next));
  return Buffer.concat(parts);
}
