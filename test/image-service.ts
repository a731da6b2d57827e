/** The service as the image runs it, from a finished tree: what the image promises, seen from outside and inside. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { atTheLatest } from './ending.ts';
import { type Boxed, commandOf, environmentOf, runBoxed, type Stage, startBoxed, textOf } from './image.ts';

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** Starts it, asks for its health the way the image does, tries to write where it must not, and stops it. */
export async function imageServes(stage: Stage, root: string, shared: Boxed['shared'] = []): Promise<void> {
  const env = { ...environmentOf(stage), STRONGROOM_PORT: String(await freePort()) };
  const folder = textOf(stage, 'WORKDIR');
  const writable = [textOf(stage, 'VOLUME')];
  const boxed: Boxed = { root, writable, shared, user: textOf(stage, 'USER'), folder, env };
  const command = [...commandOf(textOf(stage, 'ENTRYPOINT')), ...commandOf(textOf(stage, 'CMD'))];
  const health = commandOf(textOf(stage, 'HEALTHCHECK'));
  await assert.rejects(runBoxed(boxed, health), 'healthy before it is started');
  const service = startBoxed(boxed, command);
  const ended = once(service, 'close');
  const stop = atTheLatest(async () => {
    if (service.exitCode === null) service.kill('SIGTERM');
    await ended;
  });
  await saysItListens(service.stdout!, service.stderr!);
  await runBoxed(boxed, health);
  const who = await runBoxed(boxed, ['sh', '-c', inspection]);
  assert.deepEqual(who.trim().split('\n'), [
    '10001:10001',
    'CapEff: 0000000000000000',
    'CapBnd: 0000000000000000',
    'NoNewPrivs: 1',
    'read-only: /app',
    'read-only: /',
    'read-only: /usr',
    'written: /data',
  ]);
  await stop();
  assert.equal(service.exitCode, 0);
}

const inspection = `
echo "$(id -u):$(id -g)"
grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status | tr -s '\\t' ' '
for place in /app / /usr; do touch $place/x 2>/dev/null && echo "written: $place" || echo "read-only: $place"; done
touch /data/x && rm /data/x && echo 'written: /data'
`;

async function saysItListens(stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream): Promise<void> {
  let said = '';
  stderr.on('data', chunk => {
    said += chunk;
  });
  for await (const chunk of stdout) {
    said += chunk;
    if (/listening on/.test(said)) return;
  }
  throw new Error(`it ended: ${said}`);
}
