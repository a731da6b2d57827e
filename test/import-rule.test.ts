import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What each room may import, besides itself. Whatever is not listed here does not exist, or must be added with thought. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: [],
  // Runs in other people's programs: its types are generated from the OpenAPI document, so it needs nothing of ours.
  client: [],
  metrics: [],
  threads: ['base', 'contract'],
  tracing: ['metrics'],
  keyring: ['base', 'contract'],
  store: ['base', 'contract', 'threads'],
  access: ['contract'],
  material: ['base', 'contract', 'threads'],
  logs: ['base', 'contract', 'store', 'metrics'],
  egress: ['base', 'access'],
  issuers: [],
  domain: [
    'base',
    'contract',
    'keyring',
    'store',
    'access',
    'material',
    'egress',
    'issuers',
    'logs',
    'metrics',
  ],
  backup: ['base', 'contract', 'keyring', 'store', 'logs', 'domain'],
  events: ['base', 'contract', 'threads', 'keyring', 'store', 'access', 'egress', 'logs', 'domain'],
  mcp: ['contract', 'access', 'logs', 'domain'],
  http: ['base', 'contract', 'access', 'logs', 'domain', 'events', 'mcp', 'metrics'],
};

/** The same for the rooms inside a room. The files beside them put them together, and may import them all. */
const mayImportInside: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  cli: {
    terminal: [],
    connection: ['terminal'],
    vault: ['terminal', 'connection'],
    keys: ['terminal', 'connection'],
    agents: ['terminal', 'connection'],
    programs: ['terminal', 'connection'],
    people: ['terminal', 'connection'],
    service: ['terminal'],
  },
  domain: {
    kernel: [],
    resources: ['kernel'],
    credentials: ['kernel', 'resources'],
    reads: ['kernel', 'resources', 'credentials'],
    webhooks: ['kernel', 'resources'],
    identities: ['kernel', 'resources', 'credentials'],
    uses: ['kernel', 'resources', 'credentials', 'reads'],
    authorities: ['kernel', 'resources'],
    issuing: ['kernel', 'resources', 'reads', 'uses'],
    rotating: ['kernel', 'resources', 'uses', 'issuing'],
    people: ['kernel', 'resources', 'credentials'],
    sessions: ['kernel', 'resources', 'credentials', 'people'],
    'sign-in': ['kernel', 'resources', 'credentials', 'people', 'sessions'],
    oauth: ['kernel', 'resources', 'credentials', 'people', 'sessions', 'sign-in'],
    operations: ['kernel', 'resources', 'credentials', 'uses', 'people', 'sessions', 'sign-in', 'webhooks'],
  },
  events: { formats: [], mail: ['formats'] },
  material: { operations: [], ssh: [] },
  http: {
    listener: [],
    surface: ['listener'],
    vault: ['listener', 'surface'],
    oauth: ['listener', 'surface'],
    routes: ['listener', 'surface'],
    openapi: ['listener', 'routes'],
    dialect: ['listener', 'surface', 'vault', 'routes'],
    gateway: ['listener', 'surface', 'vault'],
    acme: ['listener', 'surface'],
  },
  keyring: { sealing: [], age: [], 'root-key': ['sealing', 'age'], slots: ['sealing', 'root-key'] },
  service: {
    settings: [],
    opening: ['settings'],
    listener: ['settings', 'opening'],
    backups: ['settings', 'opening'],
    planes: ['settings', 'opening', 'listener', 'backups'],
    doctor: ['settings', 'opening', 'listener', 'backups'],
  },
  store: {
    schema: [],
    engine: ['schema'],
    migrations: ['engine'],
    integrity: ['schema', 'engine', 'migrations'],
    lists: ['schema', 'engine', 'integrity'],
    records: ['schema', 'engine', 'integrity', 'lists'],
    dump: ['schema', 'engine', 'migrations', 'integrity'],
    sqlite: ['schema', 'engine', 'migrations', 'integrity', 'dump'],
    postgres: ['schema', 'engine', 'migrations', 'integrity', 'dump'],
  },
};

/** Where everything is put together: these may import every room below them. */
const composition = ['service', 'cli', 'main'];
const mostFloors = 12;

const roomOf = (file: string) => file.split('/')[1]!.replace(/\.ts$/, '');
/** The room inside its room; null for a file that stands beside such rooms. */
const innerRoomOf = (file: string) => file.split('/').slice(2, -1)[0] ?? null;

interface Import {
  readonly from: string;
  readonly to: string;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/(?:import|export)\s+[^'"`;]*?from\s+'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/g);
  return [...found].map(([, named, dynamic]) => ({
    from: file,
    to: normalize(join(dirname(file), (named ?? dynamic)!)),
  }));
}

function assertNoCircle(files: readonly string[], imports: readonly Import[]): void {
  const next = Map.groupBy(imports, ({ from }) => from);
  const done = new Set<string>();
  const walk = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), `circle: ${[...path, file].join(' -> ')}`);
    if (done.has(file)) return;
    for (const { to } of next.get(file) ?? []) walk(to, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
}

const files = globSync('src/**/*.ts', { cwd: root }).sort();
const imports = files.flatMap(importsOf).filter(({ to }) => to.startsWith('src/'));

describe('the one-way import rule', () => {
  it('sees the imports that it judges', () => {
    assert.ok(files.length > 50);
    assert.ok(imports.length > 200);
  });

  it('every room is known', () => {
    const rooms = new Set(files.map(roomOf));
    const unknown = [...rooms].filter(room => !(room in mayImport) && !composition.includes(room));
    assert.deepEqual(unknown, []);
    const loose = files.filter(file => file.split('/').length === 2);
    assert.deepEqual(loose, ['src/main.ts']);
  });

  it('rooms import only what lies below them, types included', () => {
    const broken = imports.filter(({ from, to }) => {
      const [room, target] = [roomOf(from), roomOf(to)];
      if (room === target) return false;
      if (composition.includes(room)) return composition.indexOf(target) > composition.indexOf(room);
      return !mayImport[room]!.includes(target);
    });
    assert.deepEqual(
      broken.map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
  });

  it('the house has twelve floors at most', () => {
    const below = (room: string): string[] => [
      ...new Set(imports.filter(({ from }) => roomOf(from) === room).map(({ to }) => roomOf(to))),
    ];
    const floorOf = (room: string): number =>
      1 +
      Math.max(
        0,
        ...below(room)
          .filter(other => other !== room)
          .map(floorOf),
      );
    assert.ok(floorOf('main') <= mostFloors, String(floorOf('main')));
  });

  it('every room inside a room is known, and every known one is there', () => {
    const there = new Set(
      files.flatMap(file => (innerRoomOf(file) === null ? [] : [`${roomOf(file)}/${innerRoomOf(file)}`])),
    );
    const known = Object.entries(mayImportInside).flatMap(([room, inner]) =>
      Object.keys(inner).map(one => `${room}/${one}`),
    );
    assert.deepEqual([...there].sort(), known.sort());
    const rooms = new Set(files.map(roomOf));
    assert.deepEqual(
      [...Object.keys(mayImport), ...composition].filter(room => !rooms.has(room)),
      [],
    );
  });

  it('rooms inside a room import only what lies below them there', () => {
    const broken = imports.filter(({ from, to }) => {
      const [inner, target] = [innerRoomOf(from), innerRoomOf(to)];
      if (roomOf(from) !== roomOf(to) || inner === null || inner === target) return false;
      return target !== null && !mayImportInside[roomOf(from)]![inner]!.includes(target);
    });
    assert.deepEqual(
      broken.map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
  });

  it('no inner room imports the files beside it, which put them together', () => {
    const back = imports.filter(
      ({ from, to }) => roomOf(from) === roomOf(to) && innerRoomOf(from) !== null && innerRoomOf(to) === null,
    );
    assert.deepEqual(
      back.map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
  });

  it('keyring, store and access never meet but in the domain', () => {
    const apart = ['keyring', 'store', 'access'];
    const meetings = imports.filter(
      ({ from, to }) =>
        apart.includes(roomOf(from)) && apart.includes(roomOf(to)) && roomOf(from) !== roomOf(to),
    );
    assert.deepEqual(meetings, []);
  });

  it('no import goes round in a circle, types included', () => assertNoCircle(files, imports));

  it('threads are started in one place', () => {
    const starting = files.filter(file => /new Worker\(/.test(readFileSync(join(root, file), 'utf8')));
    assert.deepEqual(starting, ['src/threads/thread.ts']);
    const ports = files.filter(file =>
      /\bparentPort\b|\bworkerData\b/.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(ports, ['src/threads/thread.ts']);
  });

  it('nothing is imported by name from node:http but types: that would load web sockets and fetch in every thread', () => {
    const importing = files.filter(file =>
      /^import (?!type )[^;]*'(node:)?http';/m.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(importing, []);
  });

  it('only config reads the environment: commands hand it over whole', () => {
    const readers = files.filter(file => /process\.env\b/.test(readFileSync(join(root, file), 'utf8')));
    for (const file of readers) {
      const uses = readFileSync(join(root, file), 'utf8').match(/process\.env\b[^,)\s]*/g)!;
      assert.ok(
        file === 'src/service/settings/config.ts' ||
          (roomOf(file) === 'cli' && uses.every(use => use === 'process.env')),
        `${file} reads the environment`,
      );
    }
  });

  it('files are written by base/durable-file.ts: aside, under a name that nobody can guess or has put there', () => {
    const writers = files.filter(file =>
      /\b(writeFile|appendFile|createWriteStream|writeFileSync|openSync)\(/.test(
        readFileSync(join(root, file), 'utf8').replaceAll(/\bfile\.writeFile\(/g, ''),
      ),
    );
    const others = new Set([
      'src/base/durable-file.ts',
      'src/cli/service/serve.ts', // The kernel's own file, which has no folder of anyone's.
      'src/cli/connection/project.ts', // Opens for reading, so that what is checked is what is read.
      'src/cli/vault/restore.ts', // Reads the first line.
    ]);
    assert.deepEqual(
      writers.filter(file => !others.has(file)),
      [],
    );
    const making = files.filter(file =>
      /O_CREAT|\bopen\([^)]*, '[wa]/.test(readFileSync(join(root, file), 'utf8')),
    );
    for (const file of making)
      assert.match(
        readFileSync(join(root, file), 'utf8'),
        /O_EXCL|'wx'/,
        `${file} makes a file that may be there`,
      );
  });

  it('a test’s connection to a database file waits for others, and does not fail under load', () => {
    const opening = globSync('{test,bench,scripts}/**/*.ts', { cwd: root }).flatMap(file =>
      (readFileSync(join(root, file), 'utf8').match(/new DatabaseSync\([^\n]*/g) ?? []).map(
        line => `${file}: ${line}`,
      ),
    );
    assert.ok(opening.length > 5);
    assert.deepEqual(
      opening.filter(line => !/timeout: \d|':memory:'/.test(line)),
      [],
    );
  });

  it('what may take seconds is done in the worker pool, and at a start', () => {
    const costly =
      /import \{[^}]*\b(generateKey|import(Key|CertificatePem|Pkcs12)|selfSign|signingRequest)\b[^}]*\} from/;
    const callers = files.filter(
      file => !file.startsWith('src/material/') && costly.test(readFileSync(join(root, file), 'utf8')),
    );
    assert.deepEqual(callers, ['src/service/listener/tls.ts']);
  });

  it('only envelope.ts calls a cipher on what is stored', () => {
    const callers = files.filter(file =>
      /createCipheriv|createDecipheriv/.test(readFileSync(join(root, file), 'utf8')),
    );
    const expected = callers.filter(file => !file.startsWith('src/material/'));
    assert.deepEqual(expected, [
      // What a person's own machine keeps for `run --offline` and `run --mine` is no part of the service.
      'src/cli/connection/sealed-text.ts',
      // Backups leave the service, in a format of others.
      'src/keyring/age/cipher.ts',
      'src/keyring/sealing/envelope.ts',
    ]);
  });
});

/** The dashboard: what each of its folders may import, besides itself and types of the contract. */
const webMayImport: Readonly<Record<string, readonly string[]>> = {
  api: [],
  ui: ['api'],
  charts: ['api', 'ui'],
  session: ['api', 'ui'],
  shared: ['api', 'ui', 'charts', 'session'],
  import: ['api', 'ui', 'session'],
  pages: ['api', 'ui', 'charts', 'session', 'shared', 'import'],
  shell: ['api', 'ui', 'session', 'shared'],
};

describe('the one-way import rule in the dashboard', () => {
  const pages = globSync('web/src/**/*.{ts,tsx}', { cwd: root }).sort();
  const within = pages.flatMap(importsOf).filter(({ to }) => to.startsWith('web/src/'));
  const folderOf = (file: string) => file.split('/')[2]!;
  const isLoose = (file: string) => file.split('/').length === 3;

  it('sees the imports that it judges', () => {
    assert.ok(pages.length > 150);
    assert.ok(within.length > 500);
    assert.deepEqual(
      [...new Set(pages.filter(file => !isLoose(file)).map(folderOf))].sort(),
      Object.keys(webMayImport).sort(),
    );
  });

  it('folders import only what lies below them, and no page another page', () => {
    const broken = within.filter(({ from, to }) => {
      if (isLoose(from)) return false;
      const [folder, target] = [folderOf(from), folderOf(to)];
      if (folder !== target) return !webMayImport[folder]!.includes(target);
      return folder === 'pages' && dirname(from) !== dirname(to);
    });
    assert.deepEqual(
      broken.map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
  });

  it('no import goes round in a circle', () => assertNoCircle(pages, within));

  it('of the service it imports the contract', () => {
    const outside = pages.flatMap(importsOf).filter(({ to }) => to.startsWith('src/'));
    assert.deepEqual(
      outside.filter(({ to }) => !to.startsWith('src/contract/')).map(({ from, to }) => `${from} -> ${to}`),
      [],
    );
  });
});
