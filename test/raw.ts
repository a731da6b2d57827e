/** Bytes as they are, over a socket of one's own: for what no client would send, and for what none would show. */
import { connect } from 'node:net';

export interface Raw {
  readonly status: number;
  /** As it came, with the spelling of its names. */
  readonly head: string;
  readonly body: string;
}

/** Sends bytes, and reads until the other side closes or has answered once. */
export function sendRaw(url: string, text: string | Buffer, method = 'GET'): Promise<Raw> {
  const { hostname, port } = new URL(url);
  return new Promise(resolve => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    const done = () => {
      socket.destroy();
      const [head = '', body = ''] = answer.split(/\r\n\r\n(.*)/s);
      resolve({ status: Number(head.split(' ')[1]), head, body });
    };
    socket.on('error', done);
    socket.on('close', done);
    socket.on('data', chunk => {
      answer += chunk;
      const [head = '', body] = answer.split(/\r\n\r\n(.*)/s);
      const length = method === 'HEAD' ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
      if (body !== undefined && Buffer.byteLength(body) >= length) done();
    });
    socket.write(text);
  });
}
