/** Pages of a list: newest first, by id, which sorts by time. */
export interface Page {
  /** From 1. */
  readonly page: number;
  readonly limit: number;
  /** Only what is not newer than this id: keeps pages stable while others add to the list. */
  readonly asOf?: string | undefined;
}

export interface PageOf<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

export function offsetOf({ page, limit }: Page): number {
  return (page - 1) * limit;
}

/** Text that LIKE finds anywhere, with its own wildcards made ordinary (ESCAPE is a backslash). */
export function containing(text: string): string {
  return `%${text.toLowerCase().replace(/[\\%_]/g, found => `\\${found}`)}%`;
}
