/**
 * Redis as issuers see it. `startRedis` runs a real server, where one is installed. `startRedisDouble` is a double that
 * speaks its protocol: it knows the commands of access control lists that issuers send, and refuses others.
 */
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Egress, egressInto } from '../src/access/egress.ts';
import { redisSessionsWith } from '../src/egress/redis-sessions.ts';
import { replyIn } from '../src/egress/resp.ts';
import { ProviderFailure } from '../src/issuers/provider.ts';
import { eventually } from './harness.ts';
import { freePort } from './postgres.ts';

export interface RedisTarget {
  readonly url: string;
  users(): Promise<string[]>;
  /** Whether a URL of a lease opens a session that may read. */
  opens(url: string): Promise<boolean>;
  close(): Promise<void>;
}

export const redisAdmin = { username: 'strongroom', password: 'correct-horse' };

const opened: Egress = egressInto(['127.0.0.0/8']);
export const openRedis = redisSessionsWith({
  egress: opened,
  resolve: async () => ['127.0.0.1'],
  refused: (message, code) => new ProviderFailure(message, code),
});

export function redisTargetOf(url: string) {
  const { hostname: host, port, username, password } = new URL(url);
  return { host, port: Number(port), database: '', username, password, encrypted: false, ca: null };
}

async function opensSession(url: string): Promise<boolean> {
  try {
    const session = await openRedis(redisTargetOf(url));
    await session.command('GET', 'app:greeting').finally(() => session.close());
    return true;
  } catch {
    return false;
  }
}

interface User {
  readonly digest: string;
  readonly rules: readonly string[];
}

/** Keeps a list of users that may be saved, and counts commands after signing in. */
export async function startRedisDouble() {
  const users = new Map<string, User>();
  const digest = `#${hash('sha256', redisAdmin.password)}`;
  users.set(redisAdmin.username, { digest, rules: ['~*', '+@all'] });
  const sockets = new Set<Socket>();
  const seen: string[][] = [];
  const state = {
    refuse: null as string | null,
    cutAt: 0,
    cut: 'before' as 'before' | 'after',
    count: 0,
    saves: true,
  };
  let saved = 0;

  function acl(who: string, [verb, name = '', ...rules]: string[]): string {
    switch (verb!.toUpperCase()) {
      case 'WHOAMI':
        return `$${who.length}\r\n${who}\r\n`;
      case 'GETUSER':
        return users.has(name) ? '*2\r\n$5\r\nflags\r\n*1\r\n$2\r\non\r\n' : '*-1\r\n';
      case 'SETUSER':
        users.set(name, { digest: rules.find(one => one.startsWith('#')) ?? '', rules });
        return '+OK\r\n';
      case 'DELUSER':
        return `:${users.delete(name) ? 1 : 0}\r\n`;
      case 'SAVE':
        if (!state.saves) return '-ERR There was an error trying to save the ACLs\r\n';
        saved += 1;
        return '+OK\r\n';
      default:
        return '-ERR unknown subcommand\r\n';
    }
  }

  function answer(who: string | null, [name = '', ...args]: string[]): { text: string; who: string | null } {
    if (name.toUpperCase() === 'AUTH') {
      const known = users.get(args[0]!)?.digest === `#${hash('sha256', args[1]!)}`;
      return known ? { text: '+OK\r\n', who: args[0]! } : { text: '-WRONGPASS invalid\r\n', who };
    }
    if (who === null) return { text: '-NOAUTH Authentication required.\r\n', who };
    seen.push([name, ...args]);
    const { refuse } = state;
    if (refuse !== null && name.toUpperCase() === 'ACL') return { text: `-${refuse}\r\n`, who };
    if (name.toUpperCase() === 'ACL') return { text: acl(who, args), who };
    return { text: name.toUpperCase() === 'GET' ? '$-1\r\n' : '-ERR unknown command\r\n', who };
  }

  const server = createServer(socket => {
    let who: string | null = null;
    let received = Buffer.alloc(0);
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      const found = replyIn(received);
      if (found === null) return;
      received = received.subarray(found.end);
      if (who !== null) state.count += 1;
      const isCut = who !== null && state.count === state.cutAt;
      if (isCut && state.cut === 'before') return void socket.destroy();
      const answered = answer(who, found.reply as string[]);
      who = answered.who;
      if (isCut) socket.destroy();
      else socket.write(answered.text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `redis://${redisAdmin.username}:${redisAdmin.password}@127.0.0.1:${port}`,
    seen,
    state,
    rulesOf: (name: string) => users.get(name)?.rules ?? [],
    saves: () => saved,
    forget: (name: string) => void users.delete(name),
    users: async () => [...users.keys()].filter(name => name.startsWith('sr_')),
    opens: opensSession,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise(resolve => server.close(resolve));
    },
  };
}

/** A real server, whose list of users is in a file or not. */
export async function startRedis(command: string, withFile: boolean): Promise<RedisTarget> {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-redis-'));
  const port = await freePort();
  const { username, password } = redisAdmin;
  const admin = `user ${username} on >${password} +acl +ping +select ~* &* +@read\nuser default off\n`;
  await writeFile(join(folder, 'users.acl'), admin);
  const list = withFile ? `aclfile ${join(folder, 'users.acl')}\n` : admin;
  const settings = `port ${port}\nbind 127.0.0.1\nsave ""\ndir ${folder}\n${list}`;
  await writeFile(join(folder, 'redis.conf'), settings);
  const start = () => spawn(command, [join(folder, 'redis.conf')], { stdio: 'ignore' });
  const child = start();
  const url = `redis://${username}:${password}@127.0.0.1:${port}`;
  await eventually('redis answers', () => opensSession(url));
  return {
    url,
    users: async () => {
      const session = await openRedis(redisTargetOf(url));
      const names = (await session.command('ACL', 'USERS')) as string[];
      await session.close();
      return names.filter(name => name.startsWith('sr_'));
    },
    opens: opensSession,
    close: async () => {
      child.kill('SIGKILL');
      await once(child, 'exit');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
