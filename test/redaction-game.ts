/**
 * A game: an agent chooses calls and sees what comes back of them, with the true value or with another of the same shape.
 * Upstreams echo what they were sent in whole, in parts or transformed, beside the value and joined with what they were
 * sent earlier. The agent wins if what it sees differs.
 */
import { scrubberOf } from '../src/egress/scrubbing.ts';
import { encodings } from './uses-world.ts';

export type Random = (below: number) => number;

/** The same numbers for the same seed. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return below => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const classes: Readonly<Record<string, string>> = {
  A: 'ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  a: 'abcdefghijklmnopqrstuvwxyz',
  9: '0123456789',
  f: '0123456789abcdef',
  x: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789',
};

/** What everybody knows of a value, and how the rest is made. */
export const shapes: readonly (readonly [known: string, rest: string])[] = [
  ['github_pat_11', `${'x'.repeat(20)}_${'x'.repeat(40)}`],
  ['ghp_', 'x'.repeat(36)],
  ['sk-ant-api03-', `${'x'.repeat(30)}-${'x'.repeat(20)}`],
  ['AKIA', 'A'.repeat(16)],
  ['', 'f'.repeat(40)],
  ['', `${'f'.repeat(8)}-${'f'.repeat(4)}-${'f'.repeat(4)}-${'f'.repeat(4)}-${'f'.repeat(12)}`],
  ['', 'x'.repeat(12)],
  ['', `${'a'.repeat(7)}!${'9'.repeat(6)}&${'A'.repeat(7)}"`],
  ['eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhZ2VudCJ9.', 'x'.repeat(43)],
];

export function valueLike([known, rest]: (typeof shapes)[number], random: Random): string {
  return known + [...rest].map(one => classes[one]?.[random(classes[one].length)] ?? one).join('');
}

type Write = (text: string) => string;

/** Of what an agent sends, and of what is placed beside it. */
const writers: readonly Write[] = Object.entries(encodings)
  .filter(([name]) => !/half|most/.test(name))
  .map(
    ([, write]) =>
      (text: string) =>
        write(text).toString('latin1'),
  );

/** How upstreams answer: by what was sent now, in its pieces, what was sent before, and the value. */
const upstreams: readonly ((pieces: readonly string[], stored: string, value: string) => string)[] = [
  pieces => pieces.join('&'),
  pieces => [...pieces].sort().join(' '),
  pieces => [...pieces].reverse().join(''),
  (pieces, stored) => `${stored} ${pieces.join(' ')}`,
  (pieces, _stored, value) => `you sent ${pieces.join(' ')} with ${value}`,
  (pieces, _stored, value) => `${value} ${pieces.join('')}`,
  (pieces, stored, value) => JSON.stringify({ error: `Bearer ${value}`, stored, pieces }),
];

/** What an agent may be shown before it is suspended, as `suspensions.ts` says. */
const most = 3;

export interface Played {
  readonly seen: readonly string[];
  /** What the agent took for the value in the end. */
  readonly learnt: string;
}

export interface Agent {
  readonly random: Random;
  /** What it knows of the value, from its beginning. */
  readonly known: string;
  /** Whether it only ever tries the next character, at an upstream that joins what it sends. */
  readonly extends?: true;
  /** Whether what it sends is looked at: out of sight, it goes another way. */
  readonly unseen?: true;
}

interface Move {
  readonly guess: string;
  readonly text: string;
  /** What it sends. */
  readonly pieces: readonly string[];
  readonly write: Write;
  readonly upstream: (typeof upstreams)[number];
}

/** One who extends what it knows sends as little of it as a window needs. */
function moveOf({ random, ...agent }: Agent, known: string, round: number): Move {
  if (agent.extends) {
    const guess = classes.x![round % 62]!;
    const text = known.slice(-11) + guess;
    const [pieces, upstream] = agent.unseen ? [[], upstreams[3]!] : [[text], upstreams[0]!];
    return { guess, text, pieces, write: one => one, upstream };
  }
  const guess = classes.x![random(62)]!;
  const text = known.slice(-random(40)) + guess;
  const cut = random(text.length);
  const write = writers[random(writers.length)]!;
  const pieces = [text.slice(0, cut), text.slice(cut)].filter(piece => piece !== '').map(write);
  return { guess, text, pieces, write, upstream: upstreams[random(upstreams.length)]! };
}

/** As the service plays it: what is looked through are the real functions, on both ways. */
export async function play(value: string, agent: Agent, rounds: number): Promise<Played> {
  const scrubber = scrubberOf([value]);
  const seen: string[] = [];
  let [known, stored, counted] = [agent.known, '', 0];

  async function answerTo({ pieces, write, upstream }: Move): Promise<string> {
    if (counted >= most) return 'refused';
    const parts = await scrubber.partsIn(Buffer.from(pieces.join('\n'), 'latin1'));
    if (parts > 0) {
      counted += parts;
      return 'refused';
    }
    const sent = Buffer.from(write(upstream(pieces, stored, value)), 'latin1');
    const { bytes, kept, parts: shown } = await scrubber.scrub(sent);
    counted += shown;
    return kept === null ? bytes.toString('latin1') : 'withheld';
  }

  for (let round = 0; round < rounds; round++) {
    const move = moveOf(agent, known, round);
    const before = counted;
    if (agent.unseen) stored = move.text;
    const answer = await answerTo(move);
    seen.push(answer);
    stored = move.text;
    // It takes for right whatever is not shown as it was sent.
    if (before < most && !answer.includes(agent.unseen ? move.text : move.pieces[0]!)) known += move.guess;
  }
  return { seen, learnt: known };
}
