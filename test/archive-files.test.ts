/** Archives of the audit log as files: what is proven by them, and what is found where they are not as they were written. */
import assert from 'node:assert/strict';
import { hash as digest, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { dropArchive, type NewArchive, verifyArchives, writeArchive } from '../src/logs/archive.ts';
import { chainStart, receiptOf } from '../src/logs/chain.ts';
import type { Archived, ArchiveName } from '../src/logs/logged-link.ts';
import { type MemoryLink, MemoryLog } from './memory-log.ts';
import { dataRoot } from './postgres.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519').privateKey;
const signing = (key: KeyObject) => (bytes: Uint8Array) => sign(null, bytes, key);
const chainOf = ({ writer, seq, hash, mark }: MemoryLink) => ({ writer, seq, hash, mark });
const sealed = (body: string, key = privateKey) =>
  sign(null, Buffer.from(`strongroom audit archive\n${body}`), key).toString('base64');

interface Seal {
  readonly number: number;
  readonly entries: number;
  readonly sha256: string;
}

describe('archives of the audit log', () => {
  let folder: string;
  let links: MemoryLink[];
  beforeEach(() => {
    folder = mkdtempSync(join(dataRoot(), 'strongroom-archive-files-'));
    const log = new MemoryLog();
    links = [0, 1, 2, 3, 4, 5].map(at => log.audit(at));
    links.push(log.audit(6, {}, 'two'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (number: number, made: Partial<NewArchive>) =>
    writeArchive(
      folder,
      { number, createdAt: 'now', deployment: 'd', previous: null, before: [], links: [], ...made },
      signing(privateKey),
    );

  /** Three archives of two entries each, the last with one of another writer; changed as a test says. */
  async function world(made: Readonly<Record<number, Partial<NewArchive>>> = {}): Promise<ArchiveName[]> {
    const first = await write(1, { links: links.slice(0, 2), ...made[1] });
    const second = await write(2, {
      previous: first,
      before: [chainOf(links[1]!)],
      links: links.slice(2, 4),
      ...made[2],
    });
    const third = await write(3, {
      previous: second,
      before: [chainOf(links[3]!)],
      links: links.slice(4),
      ...made[3],
    });
    return [first, second, third];
  }
  const ends = () => [chainOf(links[5]!), chainOf(links[6]!)];
  const newestOf = (name: ArchiveName, number = 3, chains = ends()): Archived => ({
    ...name,
    number,
    chains,
  });

  async function reportOf(newest: Archived, receipts = new Set<string>()) {
    const { archives, entries, findings } = await verifyArchives(folder, newest, publicKey, receipts);
    return [archives, entries, ...findings.map(({ what, where }) => `${what}: ${where}`)];
  }

  it('are proven from the newest back to the first, with the receipts that are in them', async () => {
    const [first, , third] = await world();
    assert.match(first!.file, /^audit-000001-[0-9a-f]{8}\.jsonl$/);
    const receipts = new Set([receiptOf(links[0]!.id, links[0]!.hash), 'another']);
    assert.deepEqual(await reportOf(newestOf(third!), receipts), [3, 7]);
    assert.deepEqual([...receipts], ['another']);
  });

  it('are proven where there is one alone', async () => {
    const name = await write(1, { links });
    assert.deepEqual(await reportOf(newestOf(name, 1)), [1, 7]);
  });

  for (const [missing, told] of [
    [0, [2, 5, 'missing: archive 1 (FILE)']],
    [1, [1, 3, 'missing: archive 2 (FILE), so archives 1 to 1 can’t be verified']],
    [2, [0, 0, 'missing: archive 3 (FILE), so archives 1 to 2 can’t be verified']],
  ] as const)
    it(`are missed: the one of number ${missing + 1}`, async () => {
      const names = await world();
      await dropArchive(folder, names[missing]!);
      await dropArchive(folder, names[missing]!); // One that is gone is dropped too.
      const [archives, entries, finding] = await reportOf(newestOf(names[2]!));
      assert.deepEqual([archives, entries, String(finding).replace(names[missing]!.file, 'FILE')], told);
    });

  it('are missed where an archive that is not the first names none before it', async () => {
    const [, , third] = await world({ 2: { previous: null } });
    assert.deepEqual(await reportOf(newestOf(third!)), [2, 5, 'missing: archive 1']);
  });

  it('are looked for in their folder alone', async () => {
    const name = await write(1, { links });
    mkdirSync(join(folder, 'audit-archive'));
    const outside = `../${name.file}`;
    const newest = newestOf({ ...name, file: outside }, 1);
    const { findings } = await verifyArchives(join(folder, 'audit-archive'), newest, publicKey, new Set());
    assert.deepEqual(findings, [{ what: 'missing', where: `archive 1 (${outside})` }]);
  });

  it('are not said to be missing where they can’t be read', async () => {
    mkdirSync(join(folder, 'audit-000001-aa.jsonl'));
    const newest = newestOf({ file: 'audit-000001-aa.jsonl', sha256: '' }, 1);
    await assert.rejects(verifyArchives(folder, newest, publicKey, new Set()), { code: 'EISDIR' });
  });

  it('are edited where a byte is another than the log says, however little that means', async () => {
    const name = await write(1, { links });
    const path = join(folder, name.file);
    const text = readFileSync(path, 'utf8');
    rmSync(path);
    writeFileSync(path, text.replace(/\n$/, ' \n'));
    assert.deepEqual(await reportOf(newestOf(name, 1)), [0, 0, `edited: archive 1 (${name.file})`]);
  });

  /** Under the name and digest that the log says, so that only what it holds tells. */
  const put = (text: string): ArchiveName => {
    const file = 'audit-000001-00000000.jsonl';
    writeFileSync(join(folder, file), text);
    return { file, sha256: digest('sha256', text) };
  };
  const partsOf = async () => {
    const { file } = await write(1, { links });
    const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n');
    const { seal } = JSON.parse(lines.pop()!) as { seal: string };
    return { content: `${lines.join('\n')}\n`, seal: JSON.parse(seal) as Seal };
  };
  const whole = (content: string, seal: Seal, key?: KeyObject) => {
    const body = JSON.stringify(seal);
    return `${content}${JSON.stringify({ seal: body, signature: sealed(body, key) })}\n`;
  };
  const sha256 = (text: string) => digest('sha256', text);

  it('put together again are what they were', async () => {
    const { content, seal } = await partsOf();
    assert.deepEqual(await reportOf(newestOf(put(whole(content, seal)), 1)), [1, 7]);
  });

  const forgeries: [what: string, forge: (content: string, seal: Seal) => string][] = [
    ['is no archive', () => 'nothing'],
    ['is signed by another', (content, seal) => whole(content, seal, stranger)],
    ['has other lines than were sealed', (content, seal) => whole(content, { ...seal, sha256: sha256('') })],
    ['has another number of lines', (content, seal) => whole(content, { ...seal, entries: 6 })],
    ['is sealed as another one', (content, seal) => whole(content, { ...seal, number: 2 })],
    [
      'calls itself another one',
      (content, seal) => {
        const other = content.replace('"number":1', '"number":2');
        return whole(other, { ...seal, sha256: sha256(other) });
      },
    ],
  ];
  for (const [what, forge] of forgeries)
    it(`are edited where one ${what}`, async () => {
      const { content, seal } = await partsOf();
      const name = put(forge(content, seal));
      assert.deepEqual(await reportOf(newestOf(name, 1)), [0, 0, `edited: archive 1 (${name.file})`]);
    });

  const chains: [what: string, change: (links: readonly MemoryLink[]) => MemoryLink[]][] = [
    ['one was left out', links => links.filter(({ seq }) => seq !== 3)],
    ['the first was left out', links => links.slice(1)],
    ['the text of one is another', links => links.map(one => (one.seq === 3 ? { ...one, text: '{}' } : one))],
    ['the number of one is another', links => links.map(one => (one.seq === 6 ? { ...one, seq: 7 } : one))],
  ];
  for (const [what, change] of chains)
    it(`are edited where their entries don’t follow each other: ${what}`, async () => {
      const name = await write(1, { links: change(links) });
      assert.deepEqual(await reportOf(newestOf(name, 1)), [0, 0, `edited: archive 1 (${name.file})`]);
    });

  const others = [
    ['number', { seq: 9 }],
    ['hash', { hash: chainStart.hash }],
    ['mark', { mark: chainStart.mark }],
  ] as const;
  for (const [what, other] of others) {
    it(`have a gap where one goes on from another ${what}`, async () => {
      const two = chainOf(links[6]!);
      const one = chainOf(links[1]!);
      const before = [one, { ...two, seq: 1, ...other }];
      const [, , third] = await world({
        1: { links: [...links.slice(0, 2), links[6]!] },
        2: { before },
        3: { links: links.slice(4, 6) },
      });
      const told = await reportOf(newestOf(third!));
      assert.deepEqual(told.slice(0, 3), [3, 7, 'missing: entries before archive 2']);
    });

    it(`have a gap where the log says that they end with another ${what}`, async () => {
      const [, , third] = await world();
      const chains = [chainOf(links[5]!), { ...chainOf(links[6]!), ...other }];
      const told = await reportOf(newestOf(third!, 3, chains));
      assert.deepEqual(told, [3, 7, 'missing: entries after the newest archive']);
    });
  }

  it('have a gap where one goes on from a chain of which none is there', async () => {
    const [, , third] = await world({ 1: { before: [{ ...chainOf(links[6]!), writer: 'three' }] } });
    assert.deepEqual(await reportOf(newestOf(third!)), [3, 7, 'missing: entries before archive 1']);
    const [, , whole] = await world({ 1: { before: [{ writer: 'three', ...chainStart }] } });
    assert.deepEqual(await reportOf(newestOf(whole!)), [3, 7], 'nothing was before');
  });
});
