/**
 * A lightweight load generator: keep-alive connections over raw sockets, each sending its next request as soon as the
 * last answer is complete. Runs as a separate process on its own core; prints one JSON line.
 *
 *   node bench/load.ts PLAN.json
 *
 * With `rate`, it sends this many requests per second in total, for latencies below the maximum load.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { Answers } from './answers.ts';

export interface LoadPlan {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Complete requests; each connection cycles through them, from a different starting point. */
  readonly requests: readonly string[];
  readonly rate?: number;
  /** Sends each request once, on any free connection; the run ends with the last one. */
  readonly once?: boolean;
}

export interface LoadResult {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly statuses: Readonly<Record<string, number>>;
}

const plan = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as LoadPlan;
const latencies: number[] = [];
const statuses: Record<string, number> = {};
const pause = plan.rate === undefined ? 0 : (1000 * plan.connections) / plan.rate;
let over = false;
let sentOnce = 0;

function drive(index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true });
    const answers = new Answers();
    let next = index;
    let sent = 0;
    const send = () => {
      sent = performance.now();
      const at = plan.once ? sentOnce++ : next++ % plan.requests.length;
      socket.write(plan.requests[at]!, 'latin1');
    };
    const goOn = () => {
      if (over || (plan.once && sentOnce >= plan.requests.length))
        socket.destroy(undefined).once('close', resolve);
      else if (pause === 0) send();
      else setTimeout(send, Math.max(0, pause - (performance.now() - sent)));
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk: Buffer) => {
      const status = answers.add(chunk);
      if (status === null) return;
      latencies.push(performance.now() - sent);
      statuses[status] = (statuses[status] ?? 0) + 1;
      goOn();
    });
  });
}

setTimeout(() => {
  over = true;
}, plan.seconds * 1000).unref();
const started = performance.now();
await Promise.all(Array.from({ length: plan.connections }, (_, index) => drive(index)));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0;
const result: LoadResult = { perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), statuses };
process.stdout.write(`${JSON.stringify(result)}\n`);
