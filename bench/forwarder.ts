/**
 * What any program in between costs: takes a request, makes one of its own to the port that is given, and hands the
 * answer on. With a file as second argument it also does what one must that records calls: a line is on disk before a
 * call leaves, and another before its answer does. Those of one turn of the event loop share a sync. It judges nothing,
 * and gives way to others as the plane of uses does.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { giveWay } from '../src/threads/priority.ts';

const port = Number(process.argv[2]);
const record = process.argv[3] === undefined ? passOn : recordIn(openSync(process.argv[3], 'a'));
const agent = new Agent({ keepAlive: true });
/** About what an entry of the request log has. */
const line = `${'x'.repeat(299)}\n`;

function passOn(then: () => void): void {
  then();
}

function recordIn(file: number): (then: () => void) => void {
  giveWay(10);
  let waiting: (() => void)[] = [];
  const sync = () => {
    const recorded = waiting;
    waiting = [];
    writeSync(file, line.repeat(recorded.length));
    fdatasyncSync(file);
    for (const then of recorded) then();
  };
  return then => {
    if (waiting.push(then) === 1) setImmediate(sync);
  };
}

const server = createServer({ keepAliveTimeout: 60_000 }, (incoming, outgoing) => {
  const call = () => {
    request({ host: '127.0.0.1', port, path: '/issues/7', agent }, answer => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.once('end', () =>
        record(() => {
          const body = Buffer.concat(pieces);
          outgoing
            .writeHead(200, { 'content-type': 'application/json', 'content-length': body.length })
            .end(body);
        }),
      );
    }).end();
  };
  incoming.resume();
  incoming.once('end', () => record(call));
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
