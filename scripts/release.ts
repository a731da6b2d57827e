/**
 * Creates the files of a release in `release/` or another folder: `npm run release [-- FOLDER]`.
 *
 *   strongroom-VERSION.tgz           the package, as npm packs it
 *   strongroom-VERSION-deploy.tgz    the files under deploy/
 *   strongroom-VERSION.cdx.json      what the package depends on, from the lock file (CycloneDX)
 *   SHA256SUMS                       for `sha256sum --check`
 *
 * The same checkout produces the same bytes with the same versions of node, npm and tar: nothing depends on the time,
 * the machine or the folder. `--built` packs an earlier build.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

const { values, positionals } = parseArgs({
  options: { built: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const folder = resolve(positionals[0] ?? 'release');
const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
const base = `${name}-${version}`;
const sbomFlags = ['--sbom-format=cyclonedx', '--package-lock-only'];

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
run('npm', 'pack', '--silent', '--pack-destination', folder, ...(values.built ? ['--ignore-scripts'] : []));
write(`${base}-deploy.tgz`, deployArchive());
write(`${base}.cdx.json`, billOfMaterials());
write('SHA256SUMS', checksums());
process.stdout.write(readFileSync(join(folder, 'SHA256SUMS')));

function run(program: string, ...args: string[]): Buffer {
  return execFileSync(program, args, { stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 256 * 1024 * 1024 });
}

function write(file: string, content: string | Buffer): void {
  writeFileSync(join(folder, file), content);
}

/** The time of the commit in seconds since 1970, unless SOURCE_DATE_EPOCH is set (reproducible-builds.org). */
function sourceDate(): number {
  return Number(process.env.SOURCE_DATE_EPOCH ?? run('git', 'log', '-1', '--format=%ct').toString());
}

function deployArchive(): Buffer {
  const fixed = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u=rwX,go=rX',
    '--format=ustar',
  ];
  const files = ['--exclude=deploy/compose/secrets', `--mtime=@${sourceDate()}`, '--create', 'deploy'];
  return gzipSync(run('tar', ...fixed, ...files), { level: 9 });
}

/** npm uses a random serial number and the current time; here they are derived from the contents. */
function billOfMaterials(): string {
  const bill = inProduction(at => JSON.parse(run('npm', '--prefix', at, 'sbom', ...sbomFlags).toString()));
  bill.metadata.timestamp = new Date(sourceDate() * 1000).toISOString();
  delete bill.serialNumber;
  bill.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(bill))}`;
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/**
 * Uses a lock file without development dependencies, because npm's own option also omits packages that both kinds need.
 * npm names the bill after the folder.
 */
function inProduction<T>(make: (at: string) => T): T {
  const scratch = mkdtempSync(join(tmpdir(), 'release-'));
  const at = join(scratch, name);
  mkdirSync(at);
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  const runs = Object.entries<{ dev?: boolean }>(lock.packages).filter(([, { dev }]) => dev !== true);
  const packages = Object.fromEntries(runs);
  for (const [file, content] of Object.entries({
    'package.json': { ...JSON.parse(readFileSync('package.json', 'utf8')), devDependencies: {} },
    'package-lock.json': { ...lock, packages: { ...packages, '': { ...packages[''], devDependencies: {} } } },
  }))
    writeFileSync(join(at, file), JSON.stringify(content));
  try {
    return make(at);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** A UUID of version 8, whose bits can be chosen freely. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function checksums(): string {
  const files = readdirSync(folder).sort();
  const lines = files.map(file => {
    const digest = createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex');
    return `${digest}  ${file}\n`;
  });
  return lines.join('');
}
