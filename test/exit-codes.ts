/** Exit codes through `strongroom run`, a few at a time. */
import type { Tool } from './tool.ts';

/** What came back for each of them. */
export async function passedOn(tool: Tool, codes: readonly number[]): Promise<(number | null)[]> {
  const results: (number | null)[] = [];
  for (let at = 0; at < codes.length; at += 8) {
    const some = codes
      .slice(at, at + 8)
      .map(code => tool.run(['run', '--no-cache', '--', 'sh', '-c', `exit ${code}`]));
    results.push(...(await Promise.all(some)).map(({ code }) => code));
  }
  return results;
}
