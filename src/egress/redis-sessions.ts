/**
 * Connections to Redis and Valkey servers that a user chose: one command after another, each with a limited time. Errors
 * never contain the password.
 */
import type { Socket } from 'node:net';
import { judgedSocket, type ServiceTarget, type SocketParts } from './judged-sockets.ts';
import { commandBytes, type Reply, RespError, replyIn } from './resp.ts';

export interface OpenedRedis {
  readonly username: string;
  /** Rejects if the server refuses the command, or does not answer. */
  command(...args: readonly string[]): Promise<Reply>;
  close(): Promise<void>;
}

interface RedisSessionParts extends SocketParts {
  /** How an answer of the server that is an error is reported. */
  readonly refused: (message: string, code: string) => Error;
}

const answerPatience = 8_000;
const longestMessage = 300;

export function redisSessionsWith(parts: RedisSessionParts) {
  return async (target: ServiceTarget): Promise<OpenedRedis> => {
    const socket = await judgedSocket(parts, target);
    const command = commandsOf(socket, parts);
    const close = async () => void socket.destroy();
    try {
      await command('AUTH', target.username, target.password);
      if (target.database !== '') await command('SELECT', target.database);
      return { username: target.username, command, close };
    } catch (error) {
      socket.destroy();
      throw error;
    }
  };
}

interface Waiting {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** One command at a time: the next is sent once the one before is answered. */
function commandsOf(socket: Socket, { refused }: Pick<RedisSessionParts, 'refused'>): OpenedRedis['command'] {
  let received = Buffer.alloc(0);
  let waiting: Waiting | null = null;
  let failure: Error | null = null;

  function fail(error: Error): void {
    failure ??= error;
    waiting?.reject(failure);
    waiting = null;
    socket.destroy();
  }

  socket.on('error', fail);
  socket.on('close', () => fail(new Error('the connection was closed')));
  socket.on('data', (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    try {
      const found = replyIn(received);
      if (found === null) return;
      received = received.subarray(found.end);
      waiting?.resolve(found.reply);
      waiting = null;
    } catch (error) {
      fail(error as Error);
    }
  });

  async function answered(args: readonly string[]): Promise<Reply> {
    if (failure !== null) throw failure;
    const timer = setTimeout(() => fail(new Error('no answer in time')), answerPatience);
    try {
      return await new Promise<Reply>((resolve, reject) => {
        waiting = { resolve, reject };
        socket.write(commandBytes(args));
      });
    } finally {
      clearTimeout(timer);
    }
  }

  return async (...args) => {
    const reply = await answered(args);
    if (!(reply instanceof RespError)) return reply;
    const [code = 'ERR'] = reply.text.split(' ', 1);
    throw refused(reply.text.slice(0, longestMessage), /^[A-Z]+$/.test(code) ? code : 'ERR');
  };
}
