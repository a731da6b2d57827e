/** Connections that are kept for the next call: for one secret alone, after plain answers, and as long as they are silent. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { Egress } from '../src/access/egress.ts';
import type { Agents } from '../src/egress/connections.ts';
import { closeAfter, isPlainEnd, Pools } from '../src/egress/pools.ts';

describe('a connection may be kept', () => {
  const rows: [method: string, status: number, isKept: boolean][] = [
    ['GET', 200, true],
    ['GET', 404, true],
    ['GET', 500, true],
    ['GET', 199, false],
    ['GET', 204, false],
    ['GET', 205, false],
    ['GET', 304, false],
    ['HEAD', 200, false],
    ['POST', 200, false],
  ];
  for (const [method, status, isKept] of rows)
    it(`${isKept ? 'after' : 'not after'} ${status} to ${method}`, () =>
      assert.equal(isPlainEnd(method, status), isKept));
});

describe('the connections of a secret', () => {
  const connections: Socket[] = [];
  const ports: (number | undefined)[] = [];
  const server = createServer((_, answer) => answer.end('answer'));
  server.on('connection', socket => {
    connections.push(socket);
    ports.push(socket.remotePort);
  });
  const everywhere = { permits: () => true } as unknown as Egress;
  const pools = () => new Pools(everywhere, async () => ['127.0.0.1']);
  let url = '';
  before(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  /** Resolves with the number of the connection, once the client has put it back. */
  async function ask(agents: Agents, isLast = false): Promise<number> {
    const request = get(url, { agent: agents['http:'] });
    if (isLast) closeAfter(request);
    const [answer] = await once(request, 'response');
    const port = (request.socket as Socket).localPort;
    for await (const _ of answer);
    await new Promise(setImmediate);
    return ports.lastIndexOf(port);
  }

  const free = (agents: Agents) => Object.values(agents['http:'].freeSockets).flat().length;

  it('are used again for the same secret, and for no other', async () => {
    const all = pools();
    const first = await ask(all.keptFor('one'));
    assert.equal(await ask(all.keptFor('one')), first);
    assert.notEqual(await ask(all.keptFor('two')), first);
    assert.notEqual(await ask(all.fresh), await ask(all.fresh));
    assert.equal(free(all.fresh), 0);
    await ask(all.keptFor('one'), true);
    assert.equal(free(all.keptFor('one')), 0);
    all.close();
  });

  it('are closed where anything comes on them that answers nothing', async () => {
    const all = pools();
    const agents = all.keptFor('one');
    const first = await ask(agents);
    assert.equal(await ask(agents), first, 'silent so far');
    connections[first]!.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfake');
    await once(connections[first]!, 'close');
    assert.notEqual(await ask(agents), first);
    all.close();
  });

  it('are at most eight', async () => {
    const all = pools();
    const agents = all.keptFor('one');
    await Promise.all(Array.from({ length: 12 }, () => ask(agents)));
    assert.equal(free(agents), 8);
    all.close();
    assert.deepEqual(
      Object.values(agents['http:'].freeSockets)
        .flat()
        .filter(socket => socket && !socket.destroyed),
      [],
    );
  });

  it('are those of 256 secrets; of one more, those that were not used for longest are closed', async () => {
    const all = pools();
    const [oldest, second] = [all.keptFor('0'), all.keptFor('1')];
    const [first] = [await ask(second), await ask(oldest)];
    for (let number = 2; number < 256; number++) all.keptFor(`${number}`);
    assert.equal(all.keptFor('0'), oldest);
    all.keptFor('one more');
    assert.equal(all.keptFor('0'), oldest, 'it was used since');
    const closed = connections[first]!;
    if (!closed.destroyed) await once(closed, 'close');
    assert.notEqual(all.keptFor('1'), second);
    assert.equal(free(oldest), 1);
    await ask(second);
    assert.equal(free(second), 0, 'what is under way keeps nothing');
    all.close();
  });
});
