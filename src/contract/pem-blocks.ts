/**
 * The PEM blocks of a text that anyone may have written, for the importers of the command and of the dashboard. Each label
 * that has no end is looked for once: a text of nothing but beginnings would take for ever otherwise.
 */
export interface FoundBlock {
  readonly pem: string;
  readonly label: string;
}

const mostUnended = 100;

/** Blocks after a hundred labels without an end are not looked for. */
export function pemBlocksIn(text: string): FoundBlock[] {
  const begin = /-----BEGIN ([A-Z0-9 ]+)-----/g;
  const unended = new Set<string>();
  const blocks: FoundBlock[] = [];
  for (let found = begin.exec(text); found !== null && unended.size < mostUnended; found = begin.exec(text)) {
    const label = found[1]!;
    const end = `-----END ${label}-----`;
    const at = unended.has(label) ? -1 : text.indexOf(end, begin.lastIndex);
    if (at < 0) {
      unended.add(label);
      continue;
    }
    begin.lastIndex = at + end.length;
    blocks.push({ pem: text.slice(found.index, begin.lastIndex), label });
  }
  return blocks;
}
