/**
 * Names that people would take for each other. A skeleton is what remains of a name if width, case, accents and the
 * common look-alikes of Latin letters are taken away. Two names with one skeleton are worth a warning, never a refusal.
 */
export const lookAlikeWarning = 'the name looks like another one in this vault';
/** The header of an answer that carries a warning. */
export const warningHeader = 'strongroom-warning';

/** Each pair: a letter, and the Latin one (or the digit) that it is taken for. */
const pairs =
  'аa бb вb гr дd еe зe иu іi їi јj кk ӏl мm нh оo пn рp сc тt уy хx ѕs ԁd ԛq ԝw ѡw һh ԍg ѵv ьb αa βb γy δd εe ηn ιi κk λa μu νv οo πn ρp σo τt υu φo χx ωw ϲc ϳj ɑa ɡg ɩi ıi ʟl ɴn ʀr օo սu հh ոn ցg զq 0o 1l |l ǀl il ٠o ۰o';
const latin = new Map(pairs.split(' ').map(pair => [...pair] as [string, string]));

export function skeletonOf(name: string): string {
  const folded = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase().normalize('NFKC');
  return Array.from(folded, character => latin.get(character) ?? character).join('');
}
