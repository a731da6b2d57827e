/** The metrics of all planes in the Prometheus text format, version 0.0.4. */
import type { Metric } from './catalogue.ts';
import { allSeries, type Series } from './meter.ts';

export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** `info` contains the constant labels: the versions. */
export function exposition(
  buffers: readonly SharedArrayBuffer[],
  info: Readonly<Record<string, string>>,
): string {
  const numbers = buffers.map(buffer => new Float64Array(buffer));
  const sections = [...Map.groupBy(allSeries, ({ name }) => name)].map(([name, ofName]) => {
    const lines = ofName.flatMap(place => linesOf(place, numbers));
    return lines.length === 0 ? '' : `${headOf(name, ofName[0]!.metric)}${lines.join('')}`;
  });
  const head = headOf('strongroom_build_info', { kind: 'gauge', help: 'Versions; always 1.' });
  return `${head}${line('strongroom_build_info', Object.entries(info), 1)}${sections.join('')}`;
}

function headOf(name: string, { kind, help }: Pick<Metric, 'kind' | 'help'>): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
}

function linesOf(place: Series, numbers: readonly Float64Array[]): string[] {
  const { name, metric, labels, at } = place;
  if (metric.kind === 'histogram') return histogramLines(place, numbers);
  const value = together(numbers, at);
  // Most combinations of labels never occur, and a gauge that was never set has no value.
  const isSilent = Number.isNaN(value) || (value === 0 && metric.kind === 'counter' && labels.length > 1);
  return isSilent ? [] : [line(name, labels, value)];
}

function histogramLines({ name, metric, labels, at }: Series, numbers: readonly Float64Array[]): string[] {
  const { buckets } = metric;
  let count = 0;
  const lines = [...buckets.map(String), '+Inf'].map((bound, index) => {
    count += together(numbers, at + index);
    return line(`${name}_bucket`, [...labels, ['le', bound]], count);
  });
  if (count === 0) return [];
  const sum = together(numbers, at + buckets.length + 1);
  return [...lines, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, count)];
}

/** Adds up the values of all planes. A gauge is set by only one of them. */
function together(numbers: readonly Float64Array[], at: number): number {
  const known = numbers.map(ofPlane => ofPlane[at]!).filter(value => !Number.isNaN(value));
  return known.length === 0 ? Number.NaN : known.reduce((sum, value) => sum + value, 0);
}

function line(name: string, labels: readonly (readonly [string, string])[], value: number): string {
  const inside = labels
    .map(([label, text]) => `${label}="${text.replaceAll(/[\\"\n]/g, escaped)}"`)
    .join(',');
  return `${name}${inside === '' ? '' : `{${inside}}`} ${value}\n`;
}

function escaped(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`;
}
