/** What any program in between costs: takes a request, makes one of its own to the port that is given, and hands the answer on. */
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true });

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
  incoming.resume();
  incoming.once('end', () => {
    request({ host: '127.0.0.1', port, path: '/issues/7', agent }, answer => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.once('end', () => {
        const body = Buffer.concat(pieces);
        outgoing
          .writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
          .end(body);
      });
    }).end();
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
