/**
 * The baseline for any program in between: it takes a request, sends its own to the given port, and passes on the
 * answer. With a file as the second argument, it also records calls durably: a line is on disk before a call is sent,
 * and another before its answer is. Lines of one turn of the event loop share a sync. It checks nothing, and runs at
 * the low priority of the plane of uses.
 */
import { fdatasyncSync, openSync, writeSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { giveWay } from '../src/threads/thread.ts';

const port = Number(process.argv[2]);
const record = process.argv[3] === undefined ? passOn : recordIn(openSync(process.argv[3], 'a'));
const agent = new Agent({ keepAlive: true });
/** About the size of an entry of the request log. */
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
