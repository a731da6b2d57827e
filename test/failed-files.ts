/** A reporter: the files in which something failed, a line each. */
import { resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** The types of the runtime don't know `entryFile` yet. */
type Failed = Extract<TestEvent, { type: 'test:fail' }>['data'] & { readonly entryFile?: string };

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failed = new Set<string>();
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.nesting === 0) failed.add(fileOf(data));
  }
  for (const file of failed) yield `${file}\n`;
}

/**
 * A file that was taken from a queue, or whose process failed, goes by its own name; otherwise it is the file that ran:
 * a suite that a helper makes is not run by the helper.
 */
function fileOf({ entryFile, file, name }: Failed): string {
  return resolve(/\.test\.m?[jt]s$/.test(name) ? name : (entryFile ?? file ?? name));
}
