/**
 * The counters of a plane: an array of numbers, readable from the other threads of the process, in which every metric
 * of the catalogue has a fixed place. Only one thread writes to it, so counting needs no lock.
 */
import { catalogue, type LabelsOf, type Metric, type Name } from './catalogue.ts';

export interface Series {
  readonly name: Name;
  readonly metric: Metric;
  readonly labels: readonly (readonly [label: string, value: string])[];
  /** Index of the first number. A histogram has one number per bucket, one for larger values, and one for the sum. */
  readonly at: number;
}

/** Every series, in the order of the catalogue. */
export const allSeries: readonly Series[] = placesOf();
const length = allSeries.reduce((most, { at, metric }) => Math.max(most, at + sizeOf(metric)), 0);
const byKey = new Map(allSeries.map(place => [keyOf(place.name, Object.fromEntries(place.labels)), place]));

export class Meter {
  readonly buffer: SharedArrayBuffer;
  readonly #numbers: Float64Array;

  constructor(buffer = emptyBuffer()) {
    this.buffer = buffer;
    this.#numbers = new Float64Array(buffer);
  }

  /** Returns a function that adds to a counter. */
  counter<N extends Name>(name: N, labels: LabelsOf<N>): (by?: number) => void {
    const numbers = this.#numbers;
    const { at } = placeOf(name, labels);
    return (by = 1) => {
      numbers[at]! += by;
    };
  }

  /** Returns a function that sets a gauge. */
  gauge<N extends Name>(name: N, labels: LabelsOf<N>): (value: number) => void {
    const numbers = this.#numbers;
    const { at } = placeOf(name, labels);
    return value => {
      numbers[at] = value;
    };
  }

  /** Returns a function that records an observation. */
  histogram<N extends Name>(name: N, labels: LabelsOf<N>): (value: number) => void {
    const numbers = this.#numbers;
    const { at, metric } = placeOf(name, labels);
    const { buckets } = metric;
    return value => {
      let bucket = 0;
      while (bucket < buckets.length && value > buckets[bucket]!) bucket++;
      numbers[at + bucket]! += 1;
      numbers[at + buckets.length + 1]! += value;
    };
  }
}

/** Gauges start as NaN, meaning not set; everything else starts at zero. */
function emptyBuffer(): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(length * Float64Array.BYTES_PER_ELEMENT);
  const numbers = new Float64Array(buffer);
  for (const { at, metric } of allSeries) if (metric.kind === 'gauge') numbers[at] = Number.NaN;
  return buffer;
}

function placesOf(): Series[] {
  const all: Series[] = [];
  let at = 0;
  for (const [name, metric] of Object.entries(catalogue) as [Name, Metric][]) {
    for (const labels of combinations(Object.entries(metric.labels))) {
      all.push({ name, metric, labels, at });
      at += sizeOf(metric);
    }
  }
  return all;
}

function combinations(labels: readonly (readonly [string, readonly string[]])[]): Series['labels'][] {
  const [first, ...rest] = labels;
  if (first === undefined) return [[]];
  const [label, values] = first;
  const others = combinations(rest);
  return values.flatMap(value => others.map(other => [[label, value] as const, ...other]));
}

function sizeOf({ kind, buckets }: Metric): number {
  return kind === 'histogram' ? buckets.length + 2 : 1;
}

function keyOf(name: string, labels: object): string {
  return `${name} ${JSON.stringify(labels)}`;
}

function placeOf<N extends Name>(name: N, labels: LabelsOf<N>): Series {
  const inOrder = Object.keys(catalogue[name].labels).map(label => [
    label,
    (labels as Record<string, string>)[label],
  ]);
  return byKey.get(keyOf(name, Object.fromEntries(inOrder)))!;
}
