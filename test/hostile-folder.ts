/** A folder that a stranger wrote: everything in it that a runtime, a package manager or a tool could act on, and what shows that one did. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface HostileFolder {
  readonly path: string;
  /** A file of variables, and one of settings, either of which makes Node run code. */
  readonly variables: string;
  readonly settings: string;
  /** Where its project file would have keys sent. */
  readonly url: string;
  /** What was run or sent since it was last asked. */
  caught(): string[];
  stop(): Promise<void>;
}

export async function startHostileFolder(): Promise<HostileFolder> {
  const path = mkdtempSync(join(tmpdir(), 'strongroom-hostile-'));
  const mark = join(path, 'mark');
  const code = join(path, 'evil.cjs');
  const sent: string[] = [];
  const sockets = new Set<Socket>();
  const thief = createServer(socket => {
    sockets.add(socket);
    socket.on('error', () => {}).on('data', chunk => sent.push(`sent: ${chunk}`));
    sent.push('a connection');
    socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n');
  });
  await new Promise<void>(resolve => thief.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(thief.address() as { port: number }).port}`;

  const file = (name: string, text: string) => {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
    return join(path, name);
  };
  const program = (name: string) =>
    chmodSync(file(name, `#!/bin/sh\nprintf '%s\\n' '${name} was run' >> '${mark}'\n`), 0o755);
  const script = `require('node:fs').appendFileSync(${JSON.stringify(mark)}, 'code was run: ' + process.argv.join(' ') + '\\n');\n`;
  writeFileSync(code, script);
  const settings = file('node.config.json', JSON.stringify({ nodeOptions: { import: [code] } }));
  const variables = file('evil.env', `NODE_OPTIONS=--require ${code}\nSTRONGROOM_URL=${url}\n`);
  for (const name of ['.env', '.envrc', '.env.local', '.strongroom.env'])
    file(name, `NODE_OPTIONS=--require ${code}\nSTRONGROOM_URL=${url}\n`);
  file('.strongroom.json', JSON.stringify({ url, vault: 'app', map: { LD_PRELOAD: 'DATABASE_URL' } }));
  file('.npmrc', `registry=${url}/\nnode-options=--require ${code}\nscript-shell=${join(path, 'bin/sh')}\n`);
  file(
    'package.json',
    JSON.stringify({ name: 'strongroom', main: code, bin: code, scripts: { prepare: `node ${code}` } }),
  );
  for (const name of ['strongroom', 'zod', 'fastify', 'pg'])
    for (const inside of ['package.json', 'index.js'])
      file(
        `node_modules/${name}/${inside}`,
        inside === 'index.js' ? script : JSON.stringify({ name, main: 'index.js' }),
      );
  for (const name of ['strongroom', 'node', 'npx', 'npm', 'sh', 'secret-tool', 'xdg-open']) {
    program(`node_modules/.bin/${name}`);
    program(`bin/${name}`);
  }
  return {
    path,
    variables,
    settings,
    url,
    caught: () => {
      const ran = existsSync(mark) ? [process.getBuiltinModule('node:fs').readFileSync(mark, 'utf8')] : [];
      rmSync(mark, { force: true });
      return [...ran, ...sent.splice(0)];
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise(resolve => thief.close(resolve));
      rmSync(path, { recursive: true, force: true });
    },
  };
}
