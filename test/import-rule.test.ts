import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What each room may import, besides itself. Whatever is not listed here does not exist, or must be added with thought. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  keyring: ['contract'],
  store: ['contract'],
  access: ['contract'],
  material: ['contract'],
  logs: ['contract', 'store'],
  vault: ['contract', 'keyring', 'store', 'access', 'material', 'logs'],
  events: ['contract', 'keyring', 'store', 'access', 'logs', 'vault'],
  http: ['contract', 'access', 'logs', 'vault', 'events'],
  mcp: ['contract', 'access', 'logs', 'vault', 'http'],
  client: ['contract'],
};

/** The tool endpoint stands on the HTTP base, and is mounted by the one file that mounts everything. */
const mounts = 'src/http/app.ts -> src/mcp/';

/** Where everything is put together: these files may import every room. */
const composition = new Set(['chores', 'config', 'report', 'open', 'serve', 'tls', 'cli', 'main']);

/** Surfaces speak to the domain; the events' outbox alone has a store of its own. */
const roomOf = (file: string) => file.split('/')[1]!.replace(/\.ts$/, '');

interface Import {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(
    /(import|export)\s+(type\s)?[^'"`;]*?from\s+'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/g,
  );
  return [...found].map(([, , type, named, dynamic]) => ({
    from: file,
    to: normalize(join(dirname(file), (named ?? dynamic)!)),
    typeOnly: type !== undefined,
  }));
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
    const unknown = [...rooms].filter(room => !(room in mayImport) && !composition.has(room));
    assert.deepEqual(unknown, []);
  });

  it('rooms import only what lies below them, types included', () => {
    const broken = imports.filter(({ from, to }) => {
      const [room, target] = [roomOf(from), roomOf(to)];
      if (composition.has(room) || room === target || `${from} -> ${to}`.startsWith(mounts)) return false;
      return !mayImport[room]!.includes(target);
    });
    assert.deepEqual(
      broken.map(({ from, to }) => `${from} -> ${to}`),
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

  it('no import goes round in a circle, types apart', () => {
    const next = new Map<string, string[]>();
    for (const { from, to, typeOnly } of imports) {
      if (!typeOnly) next.set(from, [...(next.get(from) ?? []), to]);
    }
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      assert.ok(!path.includes(file), `circle: ${[...path, file].join(' -> ')}`);
      if (done.has(file)) return;
      for (const to of next.get(file) ?? []) walk(to, [...path, file]);
      done.add(file);
    };
    for (const file of files) walk(file, []);
  });

  it('only config reads the environment: commands hand it over whole', () => {
    const readers = files.filter(file => /process\.env\b/.test(readFileSync(join(root, file), 'utf8')));
    for (const file of readers) {
      const uses = readFileSync(join(root, file), 'utf8').match(/process\.env\b[^,)\s]*/g)!;
      assert.ok(
        roomOf(file) === 'config' || (roomOf(file) === 'cli' && uses.every(use => use === 'process.env')),
        `${file} reads the environment`,
      );
    }
  });

  it('only envelope.ts calls a cipher on what is stored', () => {
    const callers = files.filter(file =>
      /createCipheriv|createDecipheriv/.test(readFileSync(join(root, file), 'utf8')),
    );
    const expected = callers.filter(file => !file.startsWith('src/material/'));
    assert.deepEqual(expected, ['src/keyring/envelope.ts']);
  });
});
