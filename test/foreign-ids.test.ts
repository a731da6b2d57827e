/**
 * An id of another organization is as good as one that nobody has: on every route, in its path, in its query and at every
 * place of its body, the answers are the same. And nothing of the other organization changes by asking.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  Document,
  type Json,
  makeWorld,
  type Operation,
  readVault,
  realBody,
  realPath,
  type World,
} from './document.ts';
import { enginesInTurn, eventually, type Service, startService } from './harness.ts';

/** Of the same moment: lists can be asked for as they were. */
const nobodysLike = (id: string) => `${id.slice(0, -4)}${id.endsWith('0000') ? '1111' : '0000'}`;
const nobodys = '01890000-0000-7000-8000-000000000000';
const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^0[0-9a-f]{7}-[0-9a-f-]{27}$/.test(value);

/** Every place of a body that holds an id, as a way to put another one there. */
function placesIn(body: Json, put: (value: Json) => Json = value => value): ((id: string) => Json)[] {
  if (isId(body)) return [id => put(id)];
  if (Array.isArray(body))
    return body.flatMap((one, at) => placesIn(one, value => put(body.with(at, value))));
  if (typeof body !== 'object' || body === null) return [];
  return Object.entries(body).flatMap(([name, one]) =>
    placesIn(one, value => put({ ...body, [name]: value })),
  );
}

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`an id of another organization on ${engine}`, () => {
    let service: Service;
    let document: Document;
    /** What the other organization has, by collection. */
    const theirs = new Map<string, string[]>();
    let key: string;
    type Call = (method: string, path: string, body?: unknown) => ReturnType<Service['call']>;
    type Asked = ReturnType<Service['call']>;
    const call: Call = (method, path, body) => service.call(method, path, body);
    const their: Call = (method, path, body) => service.call(method, path, body, key);

    before(async () => {
      service = await startService({ engine });
      document = new Document((await call('GET', '/v1/openapi.json')).body);
      ({ key } = await service.organization('Others'));
      await readVault(service, their, await makeWorld(their));
      await their('POST', '/v1/members', { email: 'theirs@example.org', role: 'viewer' });
      await their('POST', '/v1/groups', { name: 'theirs' });
      for (const { path } of document.operations().filter(one => one.path.endsWith('/{id}'))) {
        const { body } = await their('GET', path.replace('/{id}', ''));
        const ids = (body.data ?? []).map(({ id }: Json) => id).filter(isId);
        if (ids.length > 0) theirs.set(path.split('/')[2]!, ids.slice(0, 2));
      }
      assert.ok(theirs.size >= 12, [...theirs.keys()].join());
    });
    after(() => service.stop());

    /** When a key was last used is noted a moment later. */
    const state = async () =>
      Promise.all(
        [...theirs.keys()].map(async name => {
          const { body } = await their('GET', `/v1/${name}?limit=100`);
          return body.data.map(({ last_used_at: _, ...rest }: Json) => rest);
        }),
      );

    async function compared(about: string, ask: (id: string) => Promise<Json>): Promise<void> {
      const plain = ({ status, text }: Json, id: string) => [
        status,
        // The times of a histogram are counted from the moment of the request.
        text.replaceAll(id, 'ID').replace(/"(request_id|created_at|updated_at|from|to|at)":"[^"]*"/g, ''),
      ];
      for (const [name, ids] of theirs)
        for (const id of ids) {
          const none = nobodysLike(id);
          assert.deepEqual(plain(await ask(id), id), plain(await ask(none), none), `${about}, ${name}`);
        }
    }

    /** The same request with one id or another: by the path, by a parameter, or somewhere in the body. */
    async function waysOf(operation: Operation, own: World): Promise<[string, (id: string) => Asked][]> {
      const { method, path, value } = operation;
      const example = document.requestExample(operation);
      const body = example === undefined ? undefined : realBody(example, own);
      const about = `${method} ${path}`;
      const byPath = [
        [about, (id: string) => call(method, path.replace('{id}', id), body)],
        ...(value.parameters ?? [])
          .filter(({ name, in: place }: Json) => place === 'query' && /(_ids?|as_of)$/.test(name))
          .map(({ name }: Json) => [
            `${about}?${name}`,
            (id: string) => call(method, `${path}?${name}=${id}`, body),
          ]),
      ].slice(path.includes('{id}') ? 0 : 1, path.includes('{id}') ? 1 : undefined) as [
        string,
        (id: string) => Asked,
      ][];
      const byBody = placesIn(body).map(async (put): Promise<[string, (id: string) => Asked]> => {
        const real = await realPath(call, document, operation, own);
        return [`${about} ${JSON.stringify(put('ID'))}`, id => call(method, real, put(id))];
      });
      return [...byPath, ...(await Promise.all(byBody))];
    }

    it('is the id of nothing, wherever it is given', async () => {
      const own = await makeWorld(call);
      await readVault(service, call, own);
      // A delivery to an address that does not exist comes to its end by itself.
      const isWaiting = (one: Json) => one.event_id !== undefined && one.state === 'pending';
      await eventually('no delivery is pending', async () => !(await state()).flat().some(isWaiting));
      const before = await state();
      let asked = 0;
      for (const operation of document.operations())
        for (const [about, ask] of await waysOf(operation, own)) {
          // Some ids are only looked for, and what is not found is no fault.
          if ((await ask(nobodys)).status === 200 && !about.startsWith('GET')) continue;
          await compared(about, ask);
          asked++;
        }
      assert.ok(asked > 60, String(asked));
      assert.deepEqual(await state(), before);
    });
  });
}
