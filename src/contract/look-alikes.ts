/**
 * Names that people would take for each other. A skeleton is what remains of a name if width, case, accents, blanks at
 * its ends and the common look-alikes of Latin letters are taken away. Two names with one skeleton in the same space are
 * worth a warning, never a refusal.
 */
export const lookAlikeWarning = (space: string) => `the name looks like another one in this ${space}`;
/** The header of an answer that carries a warning. */
export const warningHeader = 'strongroom-warning';

/** Each group: a Latin letter in lower case or a sign, and what is taken for it. Of letters that change their shape with their case, both are here. */
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

/** Of ASCII alone, which most names are: a vault's names are compared with each one that is given, so it must be fast. */
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
  // Some letters become others by that: the lunate sigma, which looks like a c, an ordinary one.
  const first = Array.from(name, letter => shown.get(letter) ?? letter).join('');
  return first.normalize('NFKD').replace(/\p{M}/gu, '').replace(/\s/g, ' ');
}

/** A capital may look like another letter than its small form does: it is looked up as it stands first. */
function lookedUp(letter: string): string {
  const lower = letter.toLowerCase();
  return shown.get(letter) ?? shown.get(lower) ?? lower;
}
