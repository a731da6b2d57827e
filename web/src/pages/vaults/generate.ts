/** Generates random values with the browser's cryptographic random number generator, without bias. */

export const forms = [
  ['letters', 'Letters and digits'],
  ['symbols', 'Letters, digits and symbols'],
  ['hex', 'Hexadecimal'],
  ['words', 'Pronounceable words'],
  ['uuid', 'UUID'],
] as const;

export type GeneratedForm = (typeof forms)[number][0];

const digits = '0123456789';
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const alphabets = {
  letters: letters + digits,
  symbols: `${letters}${digits}!#%&()*+,-./:;<=>?@[]^_{|}~`,
  hex: `${digits}abcdef`,
} as const;

/** In characters; for words, the number of words. The length of a UUID is fixed. */
export const lengths: Readonly<Record<GeneratedForm, readonly [least: number, usual: number, most: number]>> =
  {
    letters: [8, 32, 256],
    symbols: [8, 32, 256],
    hex: [8, 64, 256],
    words: [3, 5, 20],
    uuid: [1, 1, 1],
  };

export function generate(form: GeneratedForm, length: number): string {
  if (form === 'uuid') return crypto.randomUUID();
  if (form === 'words') return Array.from({ length }, word).join('-');
  return from(alphabets[form], length);
}

const consonants = 'bdfghjklmnprstvz';
const vowels = 'aeiou';

/** Three syllables: 19 bits. */
function word(): string {
  return Array.from({ length: 3 }, () => from(consonants, 1) + from(vowels, 1)).join('');
}

function from(alphabet: string, length: number): string {
  return Array.from({ length }, () => alphabet[below(alphabet.length)]!).join('');
}

/** A uniform random number below the limit, by rejection sampling. */
function below(limit: number): number {
  const largest = Math.floor(256 / limit) * limit;
  for (;;) {
    const [drawn = 0] = crypto.getRandomValues(new Uint8Array(1));
    if (drawn < largest) return drawn % limit;
  }
}
