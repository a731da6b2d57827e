/**
 * Parses secrets in YAML: mappings, and scalars of every style. Scalars stay text, so that `no`, `0123` and `1e3` are
 * unchanged. Anything else (sequences, anchors, tags, flow collections) is refused with its line.
 */
import type { ParsedNode } from 'yaml';
import { Refusal } from '../../service/settings/report.ts';

export interface Mapping {
  readonly [name: string]: string | Mapping;
}

/** Files with secrets usually have one or two levels. */
const deepest = 100;
const largestFile = 16 * 2 ** 20;

/** The library is loaded only here, because loading it takes longer than most commands. */
export async function parseYaml(source: string): Promise<Mapping> {
  if (source.length > largestFile) throw new Refusal('the file is larger than 16 MiB');
  const { LineCounter, isMap, isScalar, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  const { contents, errors } = parseDocument(source, {
    schema: 'failsafe',
    // Checked by `mappingOf`, because the library compares each name with every other one.
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  if (errors[0] !== undefined) refuse(errors[0].pos[0]);
  return contents === null || (isScalar(contents) && contents.range[0] === contents.range[1])
    ? {}
    : mappingOf(contents, 0);

  function mappingOf(node: ParsedNode, depth: number): Mapping {
    if (!isMap(node) || node.flow === true || isMarked(node) || depth > deepest) return refuse(node.range[0]);
    const pairs = new Map<string, string | Mapping>();
    for (const { key, value } of node.items) {
      const name = textOf(key);
      if (pairs.has(name)) refuse(key.range[0]);
      pairs.set(name, value === null ? '' : isScalar(value) ? textOf(value) : mappingOf(value, depth + 1));
    }
    return Object.fromEntries(pairs);
  }

  function textOf(node: ParsedNode): string {
    return isScalar(node) && !isMarked(node) ? String(node.value) : refuse(node.range[0]);
  }

  function refuse(offset: number): never {
    throw new Refusal(
      `line ${lineCounter.linePos(offset).line} of the YAML is not a name with a text value, or uses a feature that is not supported`,
    );
  }
}

/** An anchor could be repeated elsewhere, and a tag means that the value is not plain text. */
function isMarked({ anchor, tag }: ParsedNode): boolean {
  return anchor !== undefined || tag !== undefined;
}
