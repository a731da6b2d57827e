/** Secrets that rotate: a service with a database whose users it may set passwords for, and a double of a key service. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { unique } from './document.ts';
import {
  type Answer,
  type EngineName,
  eventually,
  loopbackWebhooks,
  type Service,
  startService,
} from './harness.ts';
import { issuerBody, startTarget, type Target } from './leases-world.ts';

export const day = 86_400_000;

/** A double of a service that creates keys for those who have one: each works until it is deleted. */
export async function startKeyService() {
  const keys = new Map<string, string>();
  const asked: string[] = [];
  let refusing: ((request: string) => number | null) | null = null;
  const server = createServer((request, response) => {
    const [, path] = /^([^?]*)/.exec(request.url!)!;
    const what = `${request.method} ${path}`;
    asked.push(what);
    const answer = (status: number, body: object = {}) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const refused = refusing?.(what) ?? null;
    if (refused === 0) return void request.socket.destroy();
    if (refused !== null) return void answer(refused);
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    if (![...keys.values()].includes(token)) return void answer(401);
    if (what === 'POST /keys') return void answer(201, add());
    if (what === 'GET /me') return void answer(200);
    const id = path!.replace('/keys/', '');
    return void answer(keys.delete(id) ? 200 : 404);
  });
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  function add() {
    const [id, key] = [`key_${keys.size}_${randomBytes(4).toString('hex')}`, randomBytes(24).toString('hex')];
    keys.set(id, key);
    return { id, key };
  }
  return {
    host: `http://localhost:${(server.address() as AddressInfo).port}`,
    keys,
    asked,
    add,
    /** What it answers instead: a status, or 0 to cut the connection. */
    refuse: (how: typeof refusing) => {
      refusing = how;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

export interface RotationWorld {
  readonly service: Service;
  readonly target: Target;
  readonly keys: Awaited<ReturnType<typeof startKeyService>>;
  readonly vaultId: string;
  readonly issuerId: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  ok(method: string, path: string, body?: unknown, key?: string): Promise<any>;
  secret(more: object): Promise<Answer['body']>;
  value(id: string): Promise<string>;
  /** Two users of the database, with a secret that names the first. */
  users(): Promise<{ names: [string, string]; url: string }>;
  /** A secret whose values the key service creates. */
  apiKey(more?: object): Promise<{ id: string; rule: string }>;
  rotate(id: string, body?: object): Promise<Answer>;
  history(id: string): Promise<string[]>;
  /** Lets so much time pass, and waits until what is due is done. */
  until(what: string, passing: number, holds: () => Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

export async function startRotations(engine: EngineName, threads = false): Promise<RotationWorld> {
  const target = await startTarget();
  const keys = await startKeyService();
  const service = await startService({ engine, flags: loopbackWebhooks, threads });
  const ok = async (method: string, path: string, body?: unknown, key?: string) => {
    const answer = await service.call(method, path, body, key);
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  const { id: vaultId } = await ok('POST', '/v1/vaults', { name: unique('rotating') });
  const { id: issuerId } = await ok('POST', '/v1/issuers', issuerBody(vaultId, 'db', target));
  const secret = (more: object) =>
    ok('POST', '/v1/secrets', { vault_id: vaultId, name: unique('S'), value: 'x'.repeat(20), ...more });
  return {
    service,
    target,
    keys,
    vaultId,
    issuerId,
    ok,
    secret,
    value: async id => (await ok('POST', `/v1/secrets/${id}/reveal`)).value,
    async users() {
      const mark = randomBytes(4).toString('hex');
      const names: [string, string] = [`one_${mark}`, `two_${mark}`];
      const url = new URL(target.url);
      url.username = names[0];
      url.password = 'first-password';
      const admin = new (await import('pg')).default.Client(target.url);
      await admin.connect();
      // As an administrator would: whoever creates users may set their passwords.
      for (const name of names) {
        await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD 'first-password' IN ROLE ${target.group}`);
      }
      await admin.end();
      return { names, url: url.href };
    },
    async apiKey(more = {}) {
      const { id } = await secret({ value: keys.add().key });
      const { id: rule } = await ok('POST', '/v1/use-rules', {
        secret_id: id,
        name: unique('keys'),
        hosts: [keys.host],
        methods: ['GET', 'POST', 'DELETE'],
        paths: ['/keys', '/keys/*', '/me'],
        place: { type: 'bearer' },
        approval: 'always',
      });
      const by = {
        kind: 'http',
        create: { rule, url: `${keys.host}/keys`, value: '/key', id: '/id' },
        try: { rule, method: 'GET', url: `${keys.host}/me` },
        delete: { rule, method: 'DELETE', url: `${keys.host}/keys/{id}` },
      };
      await ok('PUT', `/v1/secrets/${id}`, { rotation: { every: '30d', overlap: '1d', by, ...more } });
      return { id, rule };
    },
    rotate: (id, body) => service.call('POST', `/v1/secrets/${id}/rotate`, body),
    history: async id =>
      (await ok('GET', `/v1/secrets/${id}/rotations`)).data.map(({ state }: { state: string }) => state),
    until: async (what, passing, holds) => {
      service.clock.pass(passing);
      await eventually(what, holds);
    },
    close: async () => {
      await service.stop();
      await keys.close();
      await target.close();
    },
  };
}
