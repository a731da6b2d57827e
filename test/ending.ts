/**
 * A test file ends by itself, also when it fails: what its tests started and did not stop is stopped when the last
 * of them is over, and what then still holds the process open is named and ends it as failed. One that ends before its
 * tests are over has failed too, although nothing said so: a promise that nobody keeps holds no process open. The test
 * runner's set-up loads this into every test file (`endingByThemselves`).
 */
import { basename } from 'node:path';
import { after } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';

const patience = Number(process.env.STRONGROOM_TEST_PATIENCE ?? 60_000);
const stops = new Set<() => Promise<unknown>>();

/** The same stop, done once: when it is called, or else when the file's tests are over. */
export function atTheLatest(stop: () => unknown): () => Promise<void> {
  let stopped: Promise<void> | undefined;
  const once = () => {
    stops.delete(once);
    stopped ??= Promise.resolve(stop()).then(() => {});
    return stopped;
  };
  stops.add(once);
  return once;
}

const shared = new Set<() => Promise<unknown>>();

/** For what all files of a process use: it is stopped when the last of them is over. */
export function withTheProcess(stop: () => Promise<unknown>): void {
  shared.add(stop);
}

let isOver = false;

export function stopWhatIsLeft(): Promise<void> {
  return stopAll(stops);
}

async function end(): Promise<void> {
  isOver = true;
  await stopWhatIsLeft();
  await stopAll(shared);
  setTimeout(endOpen, patience).unref();
}

async function stopAll(these: ReadonlySet<() => Promise<unknown>>): Promise<void> {
  const stopping = Promise.allSettled([...these].map(stop => stop()));
  await Promise.race([stopping, sleep(patience, undefined, { ref: false })]);
}

function endOpen(): void {
  const open = process.getActiveResourcesInfo().filter(kind => kind !== 'PipeWrap');
  console.error(`${basename(process.argv[1]!)} left open: ${open.join(', ')}`);
  process.exit(1);
}

function failIfCutShort(): void {
  if (isOver) return;
  console.error(`${basename(process.argv[1]!)} ended before its tests were over`);
  process.exitCode ||= 1;
}

/** What a test file's process is given, through the environment, so that it is loaded there. */
export function endingByThemselves(options = ''): string {
  const promiseHooks = new URL('promise-hooks.ts', import.meta.url);
  return `${options} --import=${promiseHooks} --import=${import.meta.url}`.trim();
}

const isTestFile =
  process.env.NODE_TEST_CONTEXT === 'child-v8' && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '');
if (isTestFile && isMainThread) {
  after(end);
  process.on('exit', failIfCutShort);
}
