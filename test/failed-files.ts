/** A reporter: the files in which something failed, a line each. */
import { isAbsolute, resolve } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

export default async function* failedFiles(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failed = new Set<string>();
  for await (const { type, data } of events) {
    // A file whose process failed is a test by its own name.
    if (type === 'test:fail')
      failed.add(data.file ?? (isAbsolute(data.name) ? data.name : resolve(data.name)));
  }
  for (const file of failed) yield `${file}\n`;
}
