/**
 * Finds names that people could confuse. A skeleton is what remains of a name without width, case, accents, spaces at
 * its ends and the common look-alikes of Latin letters. Two names with the same skeleton in one vault or organization
 * cause a warning, never a refusal.
 */
export const lookAlikeWarning = (space: string) => `the name looks like another one in this ${space}`;
/** The response header that carries a warning. */
export const warningHeader = 'strongroom-warning';

/**
 * Each group is a lower-case Latin letter or a sign, followed by the characters that can be mistaken for it. Letters
 * whose shape changes with case are included in both cases.
 */
const groups = [
  'aаαɑᴀΑАΛλд',
  'bЬьΒВвбβʙƄ',
  'cсϲСᴄϹⅽ',
  'dԁđᴅδ',
  'eеΕЕεзєᴇ',
  'fϝғſƒ',
  'gɡցԍɢ',
  'hһհНнΗʜħ',
  'jјЈϳᴊ',
  'kкΚКκᴋ',
  // One stroke each.
  'liіІιΙїЇıɩɪӏӀ1|ǀʟł',
  'mмΜМᴍ',
  'nոΝпηɴπ',
  'o0οоΟОօσϕφø٠۰ᴏ',
  'pрΡРρᴘ',
  'qԛզ',
  'rгʀ',
  'sѕЅꜱ',
  'tтΤТτᴛŧ',
  'uυսᴜμи',
  'vνѵᴠ',
  'wԝѡωᴡ',
  'xхΧХχ',
  'yуΥУγүʏ',
  'zΖᴢ',
  '-‐‑‒–—―−﹣_',
  "'’‘ʼ′`´",
  '"”“″',
  '/∕⁄',
  ':ː∶',
] as const;
const shown = new Map(
  groups.flatMap(([first, ...others]) => others.map(one => [one, first!] as [string, string])),
);
/** Two letters that together look like one. */
const joined: Readonly<Record<string, string>> = { rn: 'm', vv: 'w' };

/**
 * Lookups for ASCII, which most names consist of. A new name is compared with all names of a vault, so this must be
 * fast.
 */
const ascii = Array.from({ length: 128 }, (_, code) => lookedUp(String.fromCharCode(code)));

export function skeletonOf(name: string): string {
  const letters = plainLetters(name) ?? Array.from(bare(name), lookedUp).join('');
  return letters
    .replace(/rn|vv/g, pair => joined[pair]!)
    .replace(/\s{2,}/g, ' ')
    .trim();
}

function plainLetters(name: string): string | null {
  let letters = '';
  for (let at = 0; at < name.length; at++) {
    const letter = ascii[name.charCodeAt(at)];
    if (letter === undefined) return null;
    letters += letter;
  }
  return letters;
}

function bare(name: string): string {
  // This comes before normalization, which turns some letters into others: the lunate sigma, which looks like a c,
  // becomes an ordinary sigma.
  const first = Array.from(name, letter => shown.get(letter) ?? letter).join('');
  return first.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\s/g, ' ');
}

/** A capital can look like a different letter than its lower-case form, so it is looked up as it is first. */
function lookedUp(letter: string): string {
  const lower = letter.toLowerCase();
  return shown.get(letter) ?? shown.get(lower) ?? lower;
}
