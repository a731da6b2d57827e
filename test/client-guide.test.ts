/** docs/client.md works as it stands: its examples compile, and print what the page says, against a real service. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ErrorCode } from '../src/client/client.ts';
import { type Service, startService } from './harness.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const guide = readFileSync(join(root, 'docs/client.md'), 'utf8');
const examples = [...guide.matchAll(/```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/g)].map(
  ([, code, printed], index) => ({ file: `example-${index + 1}.ts`, code: code!, printed: printed! }),
);

/** A project that has the packages which the examples import. */
async function makeProject(): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'strongroom-guide-'));
  const modules = join(project, 'node_modules');
  mkdirSync(join(modules, 'strongroom'), { recursive: true });
  symlinkSync(join(root, 'src'), join(modules, 'strongroom', 'src'));
  const exports = { './client': './src/client/client.ts' };
  writeFileSync(join(modules, 'strongroom', 'package.json'), JSON.stringify({ type: 'module', exports }));
  for (const name of ['zod', 'pg', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  writeFileSync(join(project, 'package.json'), '{"type":"module"}');
  for (const { file, code } of examples) writeFileSync(join(project, file), code);
  const base = { extends: join(root, 'tsconfig.json'), include: ['*.ts'] };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(base));
  return project;
}

describe('docs/client.md', () => {
  let service: Service;
  let project: string;
  let env: Record<string, string>;

  before(async () => {
    service = await startService();
    project = await makeProject();
    const vault = (await service.call('POST', '/v1/vaults', { name: 'production' })).body;
    const values = { DATABASE_URL: 'postgres://app@127.0.0.1/app', PORT: '5432', API_TOKEN: 'a test value' };
    for (const [name, value] of Object.entries(values)) {
      await service.call('POST', '/v1/secrets', { vault_id: vault.id, name, value });
    }
    const { body } = await service.call('POST', '/v1/access-keys', { vault_id: vault.id, name: 'guide' });
    env = { STRONGROOM_URL: service.url, STRONGROOM_ACCESS_KEY: body.token, STRONGROOM_API_KEY: service.key };
  });
  after(async () => {
    await service.stop();
    await rm(project, { recursive: true });
  });

  it('has an output for every example', () => {
    assert.equal(examples.length, guide.match(/```ts\n/g)!.length);
    assert.ok(examples.length >= 8);
  });

  it('has examples that compile', async () => {
    const compiling = run(join(root, 'node_modules/.bin/tsc'), ['-p', project]);
    await compiling.catch(({ stdout }) => assert.fail(stdout));
  });

  for (const { file, code, printed } of examples) {
    it(`prints what the page says: ${code.split('\n').find(line => /await|fake/.test(line))}`, async () => {
      const { stdout, stderr } = await run(process.execPath, [file], { cwd: project, env });
      assert.equal(stdout, printed);
      assert.equal(stderr, '');
    });
  }

  it('names every code of an error', async () => {
    const source = await readFile(join(root, 'src/client/errors.ts'), 'utf8');
    const declared = [...source.matchAll(/^ {2}\| '(\w+)'/gm)].map(([, code]) => code as ErrorCode);
    const [, listed = ''] = /^Codes: ([\s\S]*?)\.\n/m.exec(guide) ?? [];
    assert.deepEqual(
      [...listed.matchAll(/`(\w+)`/g)].map(([, code]) => code),
      declared,
    );
  });
});
