/** A reporter: how long each file of a queue took, in seconds, a line each. */
import type { TestEvent } from 'node:test/reporters';

export default async function* fileTimes(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const { type, data } of events) {
    if ((type !== 'test:pass' && type !== 'test:fail') || data.nesting > 0) continue;
    if (/^test\/.*\.test\.ts$/.test(data.name))
      yield `${data.name}\t${Math.round(data.details.duration_ms / 1000)}\n`;
  }
}
