/**
 * A load generator that costs little: keep-alive connections over raw sockets, each sending its next request as
 * soon as the last answer is whole. Runs as a process of its own, on a core of its own; prints one JSON line.
 *
 *   node bench/load.ts PLAN.json
 *
 * With `rate` it sends so many requests a second in all, for latencies below the highest load.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

export interface LoadPlan {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** Whole requests; each connection goes through them in turn, from a place of its own. */
  readonly requests: readonly string[];
  readonly rate?: number;
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

/** The length of the answer that begins here, or 0 while its head is not whole. */
function lengthOf(bytes: Buffer): number {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return 0;
  const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, head));
  return head + 4 + Number(length?.[1] ?? 0);
}

/** One connection's answers, put together from what arrives; long ones come in parts. */
class Answers {
  #parts: Buffer[] = [];
  #have = 0;
  #need = 0;

  /** The status, once an answer is whole. */
  add(chunk: Buffer): string | null {
    this.#parts.push(chunk);
    this.#have += chunk.length;
    if (this.#need === 0)
      this.#need = lengthOf(this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts));
    if (this.#need === 0 || this.#have < this.#need) return null;
    const status = this.#parts[0]!.toString('latin1', 9, 12);
    [this.#parts, this.#have, this.#need] = [[], 0, 0];
    return status;
  }
}

function drive(index: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port: plan.port, host: '127.0.0.1', noDelay: true });
    const answers = new Answers();
    let next = index;
    let sent = 0;
    const send = () => {
      sent = performance.now();
      socket.write(plan.requests[next++ % plan.requests.length]!, 'latin1');
    };
    const goOn = () => {
      if (over) socket.destroy(undefined).once('close', resolve);
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
}, plan.seconds * 1000);
const started = performance.now();
await Promise.all(Array.from({ length: plan.connections }, (_, index) => drive(index)));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (part: number) => latencies[Math.floor(latencies.length * part)] ?? 0;
const result: LoadResult = { perSecond: latencies.length / seconds, p50: at(0.5), p99: at(0.99), statuses };
process.stdout.write(`${JSON.stringify(result)}\n`);
