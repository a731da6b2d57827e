/** What `npm pack` makes, in the hands of another project: its size, its types, the client alone, and the service. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, normalize } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };
import { vaultOf } from './client-world.ts';
import { atTheLatest } from './ending.ts';
import { type Service, startService } from './harness.ts';
import { noBoxBecause, readDockerfile } from './image.ts';
import { imageServes } from './image-service.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const modules = join(root, 'node_modules');
const published = ['bin', 'scripts', 'src', 'web', 'LICENSE', 'README.md', 'SECURITY.md', 'CHANGELOG.md'];
const configured = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json', 'deploy'];

/** A checkout of its own, so that nothing is built where other tests run. */
async function pack(folder: string): Promise<string> {
  const checkout = join(folder, 'checkout');
  for (const name of [...published, ...configured]) {
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  }
  symlinkSync(modules, join(checkout, 'node_modules'));
  doWithoutCheck(join(checkout, 'tsconfig.build.json'));
  const path = [join(modules, '.bin'), process.env.PATH].join(delimiter);
  const { stdout } = await run('npm', ['pack', '--silent'], {
    cwd: checkout,
    env: { ...process.env, PATH: path },
  });
  return join(checkout, stdout.trim().split('\n').at(-1)!);
}

/** The types are checked before the tests (`npm run check`), and what is emitted is the same to the byte. */
function doWithoutCheck(config: string): void {
  const { compilerOptions, ...rest } = JSON.parse(readFileSync(config, 'utf8'));
  writeFileSync(config, JSON.stringify({ ...rest, compilerOptions: { ...compilerOptions, noCheck: true } }));
}

/** What an install brings beside the package, and nothing that only a checkout has. */
function installDependencies(into: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  for (const [path, { dev }] of Object.entries<{ dev?: boolean }>(lock.packages)) {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    if (name === undefined || dev === true || !existsSync(join(modules, name))) continue;
    mkdirSync(dirname(join(into, name)), { recursive: true });
    symlinkSync(join(modules, name), join(into, name));
  }
}

/** Every Node from 20 on this machine, one for each version. */
async function runtimes(): Promise<{ readonly path: string; readonly version: string }[]> {
  const found = new Map<string, string>();
  const folders = [dirname(process.execPath), ...(process.env.PATH ?? '').split(delimiter)];
  for (const path of folders.map(folder => join(folder, 'node')).filter(existsSync)) {
    const { stdout } = await run(path, ['--version']);
    if (!found.has(stdout.trim())) found.set(stdout.trim(), path);
  }
  const from20 = [...found].filter(([version]) => Number(version.slice(1).split('.')[0]) >= 20);
  return from20.map(([version, path]) => ({ version, path }));
}

const consumer = `
import { admin, fake, open, text, vault, type Secret, type Store, type StandardSchema } from 'strongroom/client';
import { z } from 'zod';

const secrets = { DATABASE_URL: z.url(), PORT: z.coerce.number(), TOKEN: text };

export async function typed(url: string, key: string) {
  const unset: string | undefined = undefined;
  await using store = await open({ url, key, secrets, cache: unset, fetch: globalThis.fetch, onError: undefined });
  const port: number = store.PORT.reveal();
  const secret: Secret<string> = store.TOKEN;
  const same: Store<typeof secrets> = fake({ DATABASE_URL: 'https://x', PORT: '1', TOKEN: 't' }, secrets);
  const pool = await store.derived(['PORT', 'TOKEN'], (port, token) => ({ port: port.toFixed(), token: token.trim() }));
  const built: { port: string; token: string } = pool.current;
  store.onChange('PORT', changed => changed.reveal().toFixed());
  const value: string = await vault({ url, key }).get('PORT');
  const created = await admin({ url, key }).createAccessKey({ body: { vault_id: 'x', name: 'web' } });
  const token: string = created.token;
  const own: StandardSchema<Date> = null as never;
  const date: Date = (await open({ url, key, secrets: { own } })).own.reveal();
  // @ts-expect-error: it is not declared
  store.UNDECLARED;
  // @ts-expect-error: a number by its schema
  const wrong: string = store.PORT.reveal();
  // @ts-expect-error: a secret is not its value
  const shown: string = store.TOKEN;
  // @ts-expect-error: the name is required
  await admin({ url, key }).createVault({ body: {} });
  // @ts-expect-error: there is no such event
  store.onChange('UNDECLARED', () => {});
  return { port, secret, same, built, value, token, date, wrong, shown };
}
`;

const alone = `
import { open, text, vault } from 'strongroom/client';
export const store = open({ url: 'https://vault.example', key: 'k', secrets: { TOKEN: text } });
export const value: Promise<string> = vault({ url: 'https://vault.example', key: 'k' }).get('TOKEN');
`;

const program = `
import assert from 'node:assert/strict';
import { open, text, vault } from 'strongroom/client';
const { URL: url, KEY: key } = process.env;
assert.equal(await vault({ url, key }).get('TOKEN'), 'a value');
const options = { url, key, secrets: { TOKEN: text }, cache: './cache-' + process.version };
const store = await open(options);
assert.equal(store.TOKEN.reveal(), 'a value');
await store.close();
const away = await open({ ...options, fetch: () => Promise.reject(new TypeError('away')) });
assert.equal(away.TOKEN.reveal(), 'a value');
assert.equal(away.status().fromCache, true);
console.log(String(away.TOKEN)); // Its polling goes on, and must not keep the process alive.
`;

describe('the package', () => {
  let folder: string;
  let tarball: string;
  let project: string;
  let service: Service;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-package-'));
    [tarball, service] = await Promise.all([pack(folder), startService()]);
    project = join(folder, 'project');
    mkdirSync(join(project, 'node_modules', 'strongroom'), { recursive: true });
    await run('tar', [
      'xzf',
      tarball,
      '--strip-components=1',
      '-C',
      join(project, 'node_modules', 'strongroom'),
    ]);
    writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  });
  after(async () => {
    await service.stop();
    rmSync(folder, { recursive: true });
  });

  it('has no script that an install would run, or warn about, and a command that can be executed', () => {
    const file = (name: string) => join(project, 'node_modules/strongroom', name);
    const { scripts } = JSON.parse(readFileSync(file('package.json'), 'utf8'));
    for (const name of ['preinstall', 'install', 'postinstall', 'prepublish', 'prepare'])
      assert.equal(scripts[name], undefined, name);
    assert.equal(statSync(file('bin/strongroom.js')).mode & 0o777, 0o755);
  });

  it('is smaller than 1.8 MB', () => {
    assert.ok(statSync(tarball).size < 1_800_000, `${statSync(tarball).size} bytes`);
  });

  it('is released with what it depends on and with checksums, twice with the same bytes', async () => {
    const checkout = join(folder, 'checkout');
    const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000' };
    const release = async (name: string) => {
      const at = join(folder, name);
      await run(process.execPath, ['scripts/release.ts', '--built', at], { cwd: checkout, env });
      await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: at });
      return readFileSync(join(at, 'SHA256SUMS'), 'utf8');
    };
    const first = await release('first');
    assert.equal(await release('second'), first);
    const { version, dependencies } = packageJson;
    const files = first
      .trim()
      .split('\n')
      .map(line => line.split('  ')[1]);
    const base = `strongroom-${version}`;
    assert.deepEqual(files, [`${base}-deploy.tgz`, `${base}.cdx.json`, `${base}.tgz`]);
    const bill = JSON.parse(readFileSync(join(folder, 'first', `${base}.cdx.json`), 'utf8'));
    const listed = new Set(
      bill.components.map((one: { 'bom-ref': string }) => one['bom-ref'].replace(/@[^@]*$/, '')),
    );
    for (const name of Object.keys(dependencies)) assert.ok(listed.has(name), name);
    assert.ok(!listed.has('typescript'), 'only what runs');
  });

  it('brings a client that imports nothing but itself and, for the file cache, files', () => {
    const seen = new Set<string>();
    const outside = new Set<string>();
    const walk = (file: string) => {
      if (seen.has(file)) return;
      seen.add(file);
      const text = readFileSync(join(project, 'node_modules/strongroom', file), 'utf8');
      // What only Node has would fail in a worker.
      assert.doesNotMatch(
        text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, ''),
        /\b(process|Buffer|require|global)\b[.(]/,
      );
      const found = text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*)['"]([^'"]+)['"]/g);
      for (const [, name] of found) {
        if (name!.startsWith('.')) walk(normalize(join(dirname(file), name!)));
        else outside.add(name!);
      }
    };
    walk('dist/src/client/client.js');
    assert.deepEqual(
      [...seen].filter(file => !file.startsWith('dist/src/client/')),
      [],
    );
    assert.ok(seen.size > 10);
    assert.deepEqual([...outside].sort(), ['node:fs/promises', 'node:path']);
  });

  it('brings a client that runs without any dependency, on every Node from 20 that is here', async (t: TestContext) => {
    const { key } = await vaultOf(service, { TOKEN: 'a value' });
    writeFileSync(join(project, 'program.js'), program);
    for (const { path, version } of await runtimes()) {
      t.diagnostic(`ran on ${version}`);
      const env = { URL: service.url, KEY: key };
      const { stdout, stderr } = await run(path, ['program.js'], { cwd: project, env });
      assert.deepEqual([stdout, stderr], ['[secret TOKEN]\n', '']);
    }
  });

  it('brings types that a consumer compiles, also without the types of any runtime', async () => {
    symlinkSync(join(modules, 'zod'), join(project, 'node_modules', 'zod'));
    writeFileSync(join(project, 'consumer.ts'), consumer);
    writeFileSync(join(project, 'alone.ts'), alone);
    await compile('nodenext', ['esnext'], 'alone.ts');
    await compile('preserve', ['es2022', 'dom', 'esnext.disposable'], 'consumer.ts');
    await compile('nodenext', ['es2022', 'dom', 'esnext.disposable'], 'consumer.ts');
  });

  async function compile(module: string, lib: readonly string[], file: string): Promise<void> {
    const compilerOptions = {
      module,
      moduleResolution: module === 'preserve' ? 'bundler' : module,
      target: 'es2022',
      lib,
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
    };
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [file] }));
    const compiling = run(join(modules, '.bin', 'tsc'), ['-p', project]);
    await compiling.catch(({ stdout }) => assert.fail(stdout));
  }

  it('serves, with its dashboard and its documentation, as `npx strongroom serve`', async () => {
    installDependencies(join(project, 'node_modules', 'strongroom', 'node_modules'));
    mkdirSync(join(project, 'node_modules', '.bin'));
    // As an install does it.
    symlinkSync('../strongroom/bin/strongroom.js', join(project, 'node_modules', '.bin', 'strongroom'));
    chmodSync(join(project, 'node_modules', 'strongroom', 'bin', 'strongroom.js'), 0o755);
    const { url, stop } = await served(project);
    assert.equal(((await (await fetch(`${url}/v1/health`)).json()) as { status: string }).status, 'ok');
    for (const path of ['/', '/docs', '/docs/viewer.js']) {
      assert.equal((await fetch(url + path)).status, 200, path);
    }
    await stop();
  });

  it('serves as the image runs it: on a read-only root, as a user without any rights', async t => {
    const obstacle = await noBoxBecause();
    if (obstacle !== null) return t.skip(obstacle);
    const image = join(folder, 'image');
    cpSync(join(project, 'node_modules', 'strongroom'), join(image, 'app'), {
      recursive: true,
      filter: file => !file.endsWith('strongroom/node_modules'),
    });
    cpSync(join(root, 'deploy/docker/healthcheck.js'), join(image, 'app', 'healthcheck.js'));
    mkdirSync(join(image, 'data'), { mode: 0o700 });
    chownSync(join(image, 'data'), 10_001, 10_001);
    await imageServes(readDockerfile().at(-1)!, image, [[modules, '/app/node_modules']]);
  });
});

/** In a group of its own: what npx starts ends with it. */
async function served(project: string) {
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
  const args = ['--no-install', 'strongroom', 'serve', '--data', join(project, 'data'), '--port', '0'];
  const child = spawn('npx', args, {
    cwd: project,
    env: { PATH: path, HOME: project },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = once(child, 'close');
  const stop = atTheLatest(async () => {
    if (child.exitCode === null) process.kill(-child.pid!, 'SIGTERM');
    await ended;
  });
  let said = '';
  for await (const chunk of child.stdout) {
    said += chunk;
    const [, url] = /listening on (\S+)/.exec(said) ?? [];
    if (url !== undefined) return { url, stop };
  }
  throw new Error(`it ended: ${said}`);
}
