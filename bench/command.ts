/**
 * Measures how long `strongroom run -- true` takes to start its program, compared with an empty Node process, in turns.
 * Prints medians, their ratio and their difference, which should be under 150 ms on an idle machine.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { binary, startTool } from '../test/tool.ts';

const rounds = Number(process.env.ROUNDS ?? 30);
const tool = await startTool(
  Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`SECRET_${at}`, `value number ${at}`])),
);

async function timed(args: readonly string[]): Promise<number> {
  const started = performance.now();
  await once(spawn(process.execPath, args, { env: tool.environment(), stdio: 'ignore' }), 'close');
  return performance.now() - started;
}

const empty: number[] = [];
const run: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  empty.push(await timed(['-e', '0']));
  run.push(await timed([binary, 'run', '--', 'true']));
}
const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]!;
const [node, strongroom] = [median(empty), median(run)];
const figures = {
  node_ms: Math.round(node),
  run_ms: Math.round(strongroom),
  ratio: Number((strongroom / node).toFixed(2)),
};
console.log(JSON.stringify({ ...figures, difference_ms: Math.round(strongroom - node) }));
await tool.stop();
