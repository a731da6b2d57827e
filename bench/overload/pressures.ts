/** The kinds of pressure, each as heavy as its title says; all come over loopback, from one process. */
import type { Socket } from 'node:net';
import { narrow } from '../../src/client/narrow.ts';
import { readRequest } from '../bench.ts';
import { type Asked, textOf } from './exchanges.ts';
import type { Press, Scene } from './scene.ts';
import { clock, SteadyLoad } from './steady-load.ts';
import { longAnswers, signatures } from './uses.ts';

export interface Pressure {
  readonly title: string;
  /** The share of the reads that must be kept. */
  readonly keeps: number;
  /**
   * If the pressure also consists of reads, all reads count, compared with the maximum rate: it is impossible to exceed
   * that.
   */
  readonly countsAllReads?: true;
  /** Prepares the pressure before anything is measured; returns the function that `press` is otherwise. */
  readonly prepare?: (scene: Scene) => Promise<Press>;
  readonly press?: Press;
}

const mebibyte = 1024 * 1024;
const longestValue = 64 * 1024;
/** More vaults than the cache can hold. */
const mostRestricted = 500;
/** Several addresses, because one may have at most a thousand connections. */
const manyAddresses = (block: number, count: number) =>
  Array.from({ length: count }, (_, at) => `127.${block}.${at >> 7}.${(at & 127) + 1}`);

let made = 0;

function bulk({ data }: Scene, items: number, valueLength: number): Asked {
  const value = 'x'.repeat(valueLength);
  const secrets = Array.from({ length: items }, () => ({
    vault_id: data.scratch.id,
    name: `BULK_${made++}`,
    value,
  }));
  const body = JSON.stringify({ items: secrets });
  return { method: 'POST', path: '/v1/secrets/bulk', token: data.apiKey, body };
}

const exportOf = ({ data }: Scene): Asked => ({
  method: 'GET',
  path: '/v1/request-logs/export',
  token: data.apiKey,
});

function signIn(email: string, password: string, from?: string): Asked {
  const body = JSON.stringify({ email, password });
  return { method: 'POST', path: '/auth/password', body, ...(from === undefined ? {} : { from }) };
}

/** Mostly one of the first pages, as people read them; every sixteenth from anywhere. */
function pageOf(asked: number, pages: number): number {
  return 1 + (asked % (asked % 16 === 0 ? pages : Math.min(8, pages)));
}

async function all(scene: Scene, requests: readonly Asked[], parallel = requests.length): Promise<void> {
  const waiting = [...requests];
  const line = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      await scene.exchanges.ask(next);
  };
  await Promise.all(Array.from({ length: parallel }, line));
}

async function generateKeys(scene: Scene): Promise<void> {
  const { data, exchanges, note } = scene;
  const requests = Array.from({ length: 100 }, (_, at): Asked => {
    const generate = { key_type: 'RSA', key_size: 4096 };
    const body = JSON.stringify({ vault_id: data.scratch.id, name: `key ${made++} ${at}`, generate });
    return { method: 'POST', path: '/v1/keys', token: data.apiKey, body };
  });
  const began = clock();
  const seconds = () => ((clock() - began) / 1000).toFixed(1);
  note('the sign-in behind them was not answered');
  const behind = async () => {
    const outcome = await exchanges.ask(signIn(data.person.email, data.person.password));
    if (!exchanges.isOver) note(`the sign-in behind them was ${outcome} after ${seconds()} s`);
  };
  await Promise.all([all(scene, requests), behind()]);
}

/** Sends a byte every quarter of a second. */
function trickle(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text[at++ % text.length]!), 250);
  socket.on('data', () => {});
  socket.on('close', () => clearInterval(timer));
}

function sendSlowly({ data, exchanges }: Scene): undefined {
  const head = `POST /v1/secrets HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${data.apiKey}\r\nContent-Type: application/json\r\nContent-Length: ${mebibyte}\r\n\r\n`;
  exchanges.keepOpen(400, (socket, at) => {
    if (at % 2 === 0) return trickle(socket, `GET /v1/secrets HTTP/1.1\r\nX-Long: ${'x'.repeat(10_000)}`);
    socket.write(head);
    trickle(socket, 'x');
  });
}

/** Reads a kilobyte every tenth of a second, of several answers or, on two connections, of one that never ends. */
function readSlowly(scene: Scene): undefined {
  const reads = readRequest(scene.data.read).repeat(20);
  const long = textOf(exportOf(scene));
  scene.exchanges.keepOpen(400, (socket, at) => {
    socket.pause();
    socket.removeAllListeners('data');
    socket.on('readable', () => {});
    const timer = setInterval(() => socket.read(1_024), 100);
    socket.on('close', () => clearInterval(timer));
    socket.write(at < 2 ? long : reads);
  });
}

/** Each request has its own restricted access key, so that no cached answer can be used. */
async function restrictAnew({ data: { large }, exchanges }: Scene): Promise<void> {
  const names = (at: number) => ({ names: ['SECRET_*', `RESTRICTED_${at}`] });
  const tokens = await Promise.all(
    Array.from({ length: mostRestricted }, async (_, at) => (await narrow(large.token, names(at))).token),
  );
  let asked = 0;
  await exchanges.keepAsking(64, () => ({
    method: 'GET',
    path: `/api/v1/vaults/${large.id}`,
    token: tokens[asked++ % tokens.length]!,
  }));
}

/** Each line has its own API key, because the number of values that a caller may compare per minute is limited. */
async function compareVaults({ data: { large }, exchanges }: Scene): Promise<void> {
  const comparing = JSON.stringify({ vault_ids: [large.id, large.second.id] });
  const keys = await Promise.all(
    Array.from({ length: 32 }, (_, at) => apiKeyOf(exchanges.port, large.apiKey, at)),
  );
  await exchanges.keepAsking(keys.length, line => ({
    method: 'POST',
    path: '/v1/vaults/compare',
    token: keys[line]!,
    body: comparing,
  }));
}

async function apiKeyOf(port: number, by: string, at: number): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/api-keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `line ${at}`, role: 'owner' }),
  });
  return ((await response.json()) as { token: string }).token;
}

export const pressures: Readonly<Record<string, Pressure>> = {
  calm: { title: 'none, for comparison', keeps: 0.95, press: () => undefined },
  bodies: {
    title: '100 parallel bodies of 1 MiB',
    keeps: 0.8,
    press: ({ data, exchanges }) => {
      const frame = { vault_id: data.scratch.id, name: 'long', value: '' };
      const value = 'x'.repeat(mebibyte - JSON.stringify(frame).length);
      const body = JSON.stringify({ ...frame, value });
      const asked: Asked = { method: 'POST', path: '/v1/secrets', token: data.apiKey, body };
      return exchanges.keepAsking(100, () => asked);
    },
  },
  exports: {
    title: '20 fast exports of the request log',
    keeps: 0.8,
    press: scene => scene.exchanges.keepAsking(20, () => exportOf(scene)),
  },
  lists: {
    title: '32 readers of long lists',
    keeps: 0.8,
    press: ({ data, exchanges }) => {
      const pages = Math.floor(data.secrets / 100);
      let asked = 0;
      return exchanges.keepAsking(32, () => ({
        method: 'GET',
        path: `/v1/secrets?limit=100&page=${pageOf(asked++, pages)}`,
        token: data.apiKey,
      }));
    },
  },
  'bulk-writers': {
    title: '20 bulk writers, 100 secrets at a time',
    keeps: 0.8,
    press: scene => scene.exchanges.keepAsking(20, () => bulk(scene, 100, 40)),
  },
  'sign-ins': {
    title: '200 parallel sign-ins',
    keeps: 0.8,
    press: ({ exchanges }) => {
      const addresses = manyAddresses(1, 200);
      return exchanges.keepAsking(200, line =>
        signIn(`nobody-${made++}@example.com`, 'a wrong password, as long as usual', addresses[line]),
      );
    },
  },
  keys: { title: '100 RSA-4096 keys generated', keeps: 0.8, press: generateKeys },
  'long-export': {
    title: 'one export of the whole log',
    keeps: 0.8,
    press: scene => all(scene, [exportOf(scene)]),
  },
  'bulk-burst': {
    title: '400 bulk requests of 1 MB at once',
    keeps: 0.8,
    press: scene =>
      all(
        scene,
        Array.from({ length: 400 }, () => bulk(scene, 15, longestValue)),
      ),
  },
  reads: {
    title: 'three times the reading load',
    keeps: 0.8,
    countsAllReads: true,
    press: ({ data, rate, exchanges: { port } }) =>
      new SteadyLoad({
        port,
        connections: 64,
        request: readRequest(data.read),
        rate: rate * 2,
        patience: 250,
      }),
  },
  connections: {
    title: '2,000 busy connections',
    keeps: 0.8,
    countsAllReads: true,
    press: ({ data, exchanges: { port } }) =>
      new SteadyLoad({
        port,
        connections: 2_000,
        request: readRequest(data.read),
        rate: null,
        patience: null,
        addresses: manyAddresses(2, 4),
      }),
  },
  silent: {
    title: '9,000 silent connections',
    keeps: 0.9,
    press: ({ exchanges }) => {
      exchanges.keepOpen(9_000, socket => socket.resume(), manyAddresses(3, 12));
      return undefined;
    },
  },
  'slow-senders': { title: '400 slow senders', keeps: 0.9, press: sendSlowly },
  'slow-readers': { title: '400 slow readers', keeps: 0.9, press: readSlowly },
  'long-answers': { title: '64 calls at once with answers of 1 MiB', keeps: 0.8, prepare: longAnswers },
  signatures: { title: '64 signatures at once with RSA-4096', keeps: 0.8, prepare: signatures },
  restricting: {
    title: '64 readers of a vault of 2,000 secrets, each time with a newly restricted key',
    keeps: 0.8,
    press: restrictAnew,
  },
  comparing: {
    title: '32 comparisons of two vaults of 2,000 secrets',
    keeps: 0.8,
    press: compareVaults,
  },
  importing: {
    title: '20 imports of another organization, 100 secrets at a time',
    keeps: 0.8,
    press: scene => {
      const { large } = scene.data;
      const there = { ...scene, data: { ...scene.data, apiKey: large.apiKey, scratch: large } };
      return scene.exchanges.keepAsking(20, () => bulk(there, 100, 40));
    },
  },
  'first-reads': {
    title: 'first reads of many vaults',
    keeps: 0.8,
    press: scene =>
      all(
        scene,
        scene.data.unread.map(({ id, token }) => ({ method: 'GET', path: `/api/v1/vaults/${id}`, token })),
        32,
      ),
  },
};
