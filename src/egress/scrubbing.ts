/**
 * Removes a value from an answer, in any common form (`value-forms.ts`), in upper or lower case and with any characters
 * between that are neither letters nor digits. Only the complete value is redacted. An answer that contains a part of
 * it is withheld, and counted by the caller: if parts were removed from a text that an agent chose, it could find out
 * the value character by character. A service's own encodings are not found; use rules determine which services are
 * called. The work is proportional to the answer's length, and is done in slices between which other callers get their
 * turn.
 */
import { unescapedViews } from './escapes.ts';
import { KnownValue, mostRuns, type Run, type Turn } from './known-value.ts';

export { isRecognisable } from './value-forms.ts';

/** The limit of a value's length, in bytes, because its forms take memory and time to compute. */
const longest = 16 * 1024;
const mark = Buffer.from('[redacted]');
/**
 * In characters. An agent that knows part of a value can write thousands of guesses at the next characters into one
 * text. If one of them is right, all places with this much of the value count as guesses. Until then they have no
 * effect.
 */
const near = 5;
export interface Scrubbed {
  readonly bytes: Buffer;
  /** How many places were redacted. */
  readonly redacted: number;
  /**
   * Set if it can't be redacted: it contains a part of the value, or all of it in escaped form. Nothing of it may be
   * shown.
   */
  readonly kept: 'part' | 'escaped' | null;
  /** How many places look like parts of the value, if it contains one. */
  readonly parts: number;
}

/** How much of a text that is still arriving may be passed on. */
export interface Passable {
  readonly clean: Buffer;
  /** How much of the text this is, in bytes. */
  readonly length: number;
  readonly redacted: number;
  /** Null if nothing stands in the way; otherwise how many parts of the value seem to be in the text. */
  readonly parts: number | null;
}

/** Whether a value is too long to be searched for. */
export function isTooLong(value: string): boolean {
  return Buffer.byteLength(value, 'utf8') > longest;
}

const noTurn: Turn = async () => {};

export type Scrubber = ReturnType<typeof scrubberOf>;

export function scrubberOf(values: readonly string[]) {
  const known = new KnownValue(values);
  return {
    scrub: async (bytes: Buffer, turn = noTurn): Promise<Scrubbed> => {
      const scrubbed = await scrub(bytes, known, turn);
      const parts = scrubbed.kept === 'part' ? await guessesIn(bytes, values, turn) : 0;
      return { ...scrubbed, parts };
    },
    /** How many parts of the value seem to be in it; 0 unless it contains a part or all of it. */
    partsIn: async (bytes: Buffer, turn = noTurn): Promise<number> =>
      (await isIn(bytes, known, turn)) ? guessesIn(bytes, values, turn) : 0,
    /** The beginning of a text that may be passed on while `held` bytes at its end, or more, wait for what follows. */
    passable: async (bytes: Buffer, held: number, turn = noTurn): Promise<Passable> => {
      const found = await passable(bytes, held, known, turn);
      return { ...found, parts: found.isKept ? await guessesIn(bytes, values, turn) : null };
    },
    /** Its memory use, in bytes. */
    size: known.size,
  };
}

async function isIn(bytes: Buffer, known: KnownValue, turn: Turn): Promise<boolean> {
  return (await known.runsIn(bytes, turn)).length > 0 || isEscapedIn(bytes, known, turn);
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

/** Whatever reaches into the part that is held back is judged once it is complete. */
async function passable(bytes: Buffer, held: number, known: KnownValue, turn: Turn) {
  const runs = await known.runsIn(bytes, turn);
  const edges = runs.map(run => known.edgesOf(bytes, run));
  const end = held === 0 ? bytes.length : Math.max(0, bytes.length - held);
  const open = edges.findIndex(([, to]) => held > 0 && to > end);
  const length = open === -1 ? end : Math.min(end, edges[open]![0]);
  const closed = open === -1 ? runs : runs.slice(0, open);
  const shownBefore = bytes.subarray(0, length);
  const clean = await redactedIn(shownBefore, closed, known, turn);
  const isPart = closed.some(({ isWhole }) => !isWhole);
  const isKept = isPart || (await isEscapedIn(await redactedIn(bytes, runs, known, turn), known, turn));
  return { clean, length, redacted: closed.length, isKept };
}

async function isEscapedIn(bytes: Buffer, known: KnownValue, turn: Turn): Promise<boolean> {
  for await (const view of unescapedViews(bytes, turn))
    if ((await known.runsIn(view, turn)).length > 0) return true;
  return false;
}

async function redactedIn(bytes: Buffer, runs: readonly Run[], known: KnownValue, turn: Turn) {
  if (runs.length === 0) return bytes;
  const parts: Buffer[] = [];
  let next = 0;
  for (const [number, run] of runs.entries()) {
    if (number % mostRuns === mostRuns - 1) await turn();
    const [from, to] = known.edgesOf(bytes, run);
    parts.push(bytes.subarray(next, from), mark);
    next = to;
  }
  parts.push(bytes.subarray(next));
  return Buffer.concat(parts);
}
