/** The names of the planes in metrics. With several readers, `reading` is the main thread, which accepts for them. */
type ReaderName = `reader-${number}`;

export const mostReaders = 16;
const readers = Array.from({ length: mostReaders }, (_, index) => readerName(index + 1));
export const planes = ['reading', 'management', 'uses', ...readers] as const;
export type PlaneName = (typeof planes)[number];

/** The name of a reader, counted from 1. */
export function readerName(number: number): ReaderName {
  return `reader-${number}`;
}
