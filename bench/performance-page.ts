/** Writes docs/performance.md, in which each benchmark replaces its own sections and keeps the others. */
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL('../docs/performance.md', import.meta.url);

/** The section of `npm run bench:overload`. */
export const overloadTitle = 'Under pressure';

function splitAt(title: string): { before: string; section: string; after: string } {
  const page = readFileSync(file, 'utf8');
  const start = page.indexOf(`## ${title}\n`);
  if (start < 0) return { before: `${page.trimEnd()}\n\n`, section: '', after: '' };
  const next = page.indexOf('\n## ', start);
  const end = next < 0 ? page.length : next + 1;
  return { before: page.slice(0, start), section: page.slice(start, end), after: page.slice(end) };
}

/** Replaces the page, except for the sections of other benchmarks. */
export function writePage(text: string): void {
  const sections = readFileSync(file, 'utf8')
    .split(/^(?=## )/m)
    .slice(1);
  const titleOf = (section: string) => section.slice(0, section.indexOf('\n') + 1);
  const others = sections.filter(section => !text.includes(titleOf(section)));
  writeFileSync(file, `${[text, ...others].map(part => part.trimEnd()).join('\n\n')}\n`);
}

export function writeSection(title: string, text: string): void {
  const { before, after } = splitAt(title);
  const rest = after === '' ? '' : `\n${after}`;
  writeFileSync(file, `${before}## ${title}\n\n${text.trimEnd()}\n${rest}`);
}
