/** A reporter: the files in which something failed, a line each. */
import { isAbsolute, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

/** The types of the runtime don't know `entryFile` yet. */
type Failed = Extract<TestEvent, { type: 'test:fail' }>['data'] & { readonly entryFile?: string };

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failed = new Set<string>();
  for await (const { type, data } of events) {
    if (type === 'test:fail') failed.add(fileOf(data));
  }
  for (const file of failed) yield `${file}\n`;
}

/** The file that ran: a suite that a helper makes is not run by the helper. A file whose process failed is a test by its own name. */
function fileOf({ entryFile, file, name }: Failed): string {
  return entryFile ?? file ?? (isAbsolute(name) ? name : resolve(name));
}
