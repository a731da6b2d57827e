/**
 * Finds the PEM blocks in untrusted text, for the importers of the command line and the dashboard. The end of a label
 * is not searched for again once it wasn't found; otherwise a text of nothing but beginnings would take quadratic
 * time.
 */
interface FoundBlock {
  readonly pem: string;
  readonly label: string;
}

const mostUnended = 100;

/** Stops after a hundred different labels without an end. */
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
