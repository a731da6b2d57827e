/**
 * Compares the cost of lists, searches and first reads with an earlier commit, in one run: both services are filled
 * with the same data through the API and queried in turns. Prints the processor time per request before and after, and
 * their ratio.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type Target, table } from './bench.ts';
import { checkOut, commandIn, here, setUp } from './checkout.ts';

const vaultCount = Number(process.env.VAULTS ?? 400);
const perVault = 50;
/** The first vaults warm a service up; each of the others is read only once, for the first time. */
const warmUp = 100;
const turns = 12;
const perTurn = 150;
const connections = 32;
/** A new answer is cached when no request is waiting. */
const untilStored = 4_000;

interface Vault {
  readonly id: string;
  readonly token: string;
}

class Side {
  readonly #place: readonly string[];
  readonly #command: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections });
  readonly vaults: Vault[] = [];
  #key = '';
  #server!: Target;

  constructor(checkout: string, data: string) {
    this.#place = ['--data', data];
    this.#command = commandIn(checkout);
  }

  async start(): Promise<void> {
    this.#server = await startServer(this.#place, this.#command);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await this.#server.stop();
  }

  async fill(): Promise<void> {
    this.#key = setUp(this.#command, this.#place);
    await this.start();
    for (let number = 0; number < vaultCount; number++) await this.#fillVault(number);
  }

  async #fillVault(number: number): Promise<void> {
    const { id } = await this.#post('vaults', { name: `vault ${number}` });
    const items = Array.from({ length: perVault }, (_, at) => ({
      vault_id: id,
      name: `SECRET_${number}_${at}`,
      value: 'x'.repeat(40),
      ...(number === 0 ? { tags: { team: 'payments' } } : {}),
    }));
    await this.#post('secrets/bulk', { items });
    this.vaults.push({ id, token: (await this.#post('access-keys', { vault_id: id, name: 'bench' })).token });
  }

  async #post(path: string, body: object): Promise<Vault> {
    return JSON.parse(await this.#send('POST', `/v1/${path}`, this.#key, JSON.stringify(body)));
  }

  get(path: string): Promise<string> {
    return this.#send('GET', path, this.#key);
  }

  read({ id, token }: Vault): Promise<string> {
    return this.#send('GET', `/api/v1/vaults/${id}`, token);
  }

  #send(method: string, path: string, token: string, body?: string): Promise<string> {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: this.#server.port,
        agent: this.#agent,
        method,
        path,
        headers,
      };
      const sent = request(options, answer => {
        let text = '';
        answer.setEncoding('utf8').on('data', chunk => {
          text += chunk;
        });
        answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))));
      });
      sent.on('error', reject).end(body);
    });
  }

  /** The processor time per request, in microseconds. */
  async cost(requests: readonly (() => Promise<unknown>)[]): Promise<number> {
    const before = this.#server.processorTime();
    await Promise.all(requests.map(send => send()));
    return ((this.#server.processorTime() - before) * 1000) / requests.length;
  }
}

type Turn = (side: Side, turn: number) => (() => Promise<unknown>)[];

/** The ratio of the medians; the order in a pair alternates. */
async function ratioOf(name: string, sides: readonly [Side, Side], rounds: number, turn: Turn) {
  const costs = new Map<Side, number[]>(sides.map(side => [side, []]));
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      costs.get(side)!.push(await side.cost(turn(side, round)));
  const [before, after] = sides.map(side => median(costs.get(side)!)) as [number, number];
  return [name, Math.round(before), Math.round(after), (before / after).toFixed(2)];
}

function median(values: number[]): number {
  return values.sort((x, y) => x - y)[values.length >> 1]!;
}

const again =
  (path: (side: Side) => string): Turn =>
  side =>
    Array.from({ length: perTurn }, () => () => side.get(path(side)));
const pages: readonly [string, (side: Side) => string][] = [
  ['a page of 20 of a vault', ({ vaults }) => `/v1/secrets?vault_id=${vaults[1]!.id}`],
  ['the same with tags', ({ vaults }) => `/v1/secrets?vault_id=${vaults[0]!.id}`],
  ['a page of 20 of all', () => '/v1/secrets'],
  ['a search that finds one', () => `/v1/secrets?q=secret_${vaultCount - 1}_7`],
  ['a search that finds nothing', () => '/v1/secrets?q=nothing'],
  ['page 500 of 20', () => '/v1/secrets?page=500'],
];
/** Each turn has as many vaults as connections. */
const rounds = Math.floor((vaultCount - warmUp) / connections);
const firstReads: Turn = (side, turn) =>
  side.vaults
    .slice(warmUp + turn * connections, warmUp + (turn + 1) * connections)
    .map(vault => () => side.read(vault));

export async function compare(commit: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-bench-'));
  const earlier = checkOut(commit, folder);
  const sides = [new Side(earlier.path, join(folder, 'a')), new Side(here, join(folder, 'b'))] as const;
  for (const side of sides) await side.fill();
  const rows: (string | number)[][] = [];
  for (const [name, path] of pages) {
    for (const side of sides) await side.cost(again(path)(side, 0));
    rows.push(await ratioOf(name, sides, turns, again(path)));
  }
  for (const name of ['a vault of 50, read for the first time', 'the same, first read after a restart']) {
    for (const side of sides) {
      await side.stop();
      await side.start();
      for (const vault of side.vaults.slice(0, warmUp)) await side.read(vault);
    }
    rows.push(await ratioOf(name, sides, rounds, firstReads));
    await new Promise(resolve => setTimeout(resolve, untilStored));
  }
  for (const side of sides) await side.stop();
  earlier.remove();
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write(`${table(['request', 'before, µs', 'after, µs', 'before/after'], rows)}\n`);
}
