import { describe } from 'node:test';
import { type EngineName, engines, enginesInTurn } from './engines.ts';

/** Each of them has what it works on to itself, so a few go side by side. */
export async function atOnce<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: 6 }, worker));
}

/** The engine whose turn it is; where both are asked for, side by side. The tests on each go one after another. */
export function onEngines(what: string, suite: (engine: EngineName) => void): void {
  onEach(enginesInTurn(what), what, suite);
}

/** For what is near the store. */
export function onBothEngines(what: string, suite: (engine: EngineName) => void): void {
  onEach(engines, what, suite);
}

function onEach(chosen: readonly EngineName[], what: string, suite: (engine: EngineName) => void): void {
  describe(what, { concurrency: true }, () => {
    for (const engine of chosen) describe(`${what} on ${engine}`, { concurrency: 1 }, () => suite(engine));
  });
}
