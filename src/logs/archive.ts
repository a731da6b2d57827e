/**
 * Archives of the audit log: files with entries that retention removed from the database. Each contains the links as
 * they were stored, the state of each chain before them, the name and digest of the previous archive, and a signature.
 * The digest of the newest archive is recorded in the audit log itself. With the files and the database, the complete
 * log can be verified: a missing, changed or swapped archive is detected.
 *
 * A file that neither another archive nor an entry of the log names was never finished, and is ignored.
 */
import { hash as digest, type KeyObject, randomBytes, verify } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createDurably, makeFolder } from '../base/durable-file.ts';
import { chainStart, type Link, linkHash, receiptOf } from './chain.ts';
import type { Finding } from './findings.ts';
import { type Archived, type ArchiveName, isPrunedChain, type PrunedChain, readable } from './logged-link.ts';

/** A link of the audit log in an archive. */
interface ArchivedLink extends Link {
  readonly id: string;
  readonly writer: string;
  readonly text: string;
}

export interface NewArchive {
  readonly number: number;
  readonly createdAt: string;
  readonly deployment: string;
  readonly previous: ArchiveName | null;
  /** The state of the chains that its links continue. */
  readonly before: readonly PrunedChain[];
  readonly links: readonly ArchivedLink[];
}

interface Seal {
  readonly number: number;
  readonly created_at: string;
  readonly deployment: string;
  readonly previous: ArchiveName | null;
  readonly entries: number;
  /** The digest of all lines before the last. */
  readonly sha256: string;
}

type Sign = (bytes: Uint8Array) => Uint8Array;

/** Prefixed, so that it can't be confused with anything else that the same key signs. */
const sealedBytes = (body: string): Buffer => Buffer.from(`strongroom audit archive\n${body}`);
const sha256 = (text: string): string => digest('sha256', text);

/** Durable when it resolves, under a unique name. */
export async function writeArchive(folder: string, made: NewArchive, sign: Sign): Promise<ArchiveName> {
  const text = archiveText(made, sign);
  const number = String(made.number).padStart(6, '0');
  const file = `audit-${number}-${randomBytes(4).toString('hex')}.jsonl`;
  makeFolder(folder);
  await createDurably(join(folder, file), text, 0o400);
  return { file, sha256: sha256(text) };
}

/** Deletes an archive that is not needed after all. */
export function dropArchive(folder: string, { file }: ArchiveName): Promise<void> {
  return rm(join(folder, file), { force: true });
}

function archiveText({ links, before, ...made }: NewArchive, sign: Sign): string {
  const { number, createdAt: created_at, deployment, previous } = made;
  const lines = [
    JSON.stringify({ strongroom_audit_archive: 1, number, before }),
    ...links.map(({ id, writer, seq, text, hash, mark }) =>
      JSON.stringify({ stream: 'audit', id, writer, seq, text, hash, mark }),
    ),
  ].map(line => `${line}\n`);
  const content = lines.join('');
  const entries = links.length;
  const seal: Seal = { number, created_at, deployment, previous, entries, sha256: sha256(content) };
  const body = JSON.stringify(seal);
  const signature = Buffer.from(sign(sealedBytes(body))).toString('base64');
  return `${content}${JSON.stringify({ seal: body, signature })}\n`;
}

/** The result of verifying the archives. */
export interface ArchiveReport {
  /** The number of intact archives. */
  readonly archives: number;
  readonly entries: number;
  readonly findings: readonly Finding[];
}

interface Read {
  readonly previous: ArchiveName | null;
  readonly before: readonly PrunedChain[];
  readonly after: ReadonlyMap<string, Link>;
  readonly entries: number;
}

/**
 * Verifies from the newest archive, which the log names, back to the first. Receipts that are found are removed from
 * the set. Archives before a missing or changed one can't be verified, because only it names its predecessor.
 */
export async function verifyArchives(
  folder: string,
  newest: Archived,
  key: KeyObject,
  receipts: Set<string>,
): Promise<ArchiveReport> {
  const read: Read[] = [];
  let name: ArchiveName | null = newest;
  for (let number = newest.number; number > 0; number--) {
    const found: Read | 'missing' | 'edited' =
      name === null ? 'missing' : await readArchive(folder, name, number, key, receipts);
    if (found === 'missing' || found === 'edited') {
      const earlier = number > 1 ? `, so archives 1 to ${number - 1} can’t be verified` : '';
      const where = `archive ${number}${name === null ? '' : ` (${name.file})`}${earlier}`;
      return reportOf(read, [{ what: found, where }]);
    }
    read.unshift(found);
    name = found.previous;
  }
  return reportOf(read, gapsIn(read, newest.chains));
}

function reportOf(read: readonly Read[], findings: readonly Finding[]): ArchiveReport {
  return { archives: read.length, entries: read.reduce((sum, { entries }) => sum + entries, 0), findings };
}

async function readArchive(
  folder: string,
  { file, sha256: due }: ArchiveName,
  number: number,
  key: KeyObject,
  receipts: Set<string>,
): Promise<Read | 'missing' | 'edited'> {
  const text = isPlain(file) ? await readFile(join(folder, file), 'utf8').catch(absent) : null;
  if (text === null) return 'missing';
  if (sha256(text) !== due) return 'edited';
  return readable(() => contentOf(text, number, key, receipts)) ?? 'edited';
}

/** A name from the log must not lead to another folder. */
const isPlain = (file: string): boolean => /^audit-[0-9a-f-]+\.jsonl$/.test(file);

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

/** Throws if the content is not as we write it. */
function contentOf(text: string, number: number, key: KeyObject, receipts: Set<string>): Read {
  const end = text.lastIndexOf('\n', text.length - 2) + 1;
  const content = text.slice(0, end);
  const { seal: body, signature } = JSON.parse(text.slice(end)) as { seal: string; signature: string };
  if (!verify(null, sealedBytes(body), key, Buffer.from(signature, 'base64'))) throw new Error('not signed');
  const seal = JSON.parse(body) as Seal;
  const lines = content.trimEnd().split('\n');
  const [head, ...links] = lines.map(line => JSON.parse(line));
  const isWhole = seal.sha256 === sha256(content) && seal.entries === links.length;
  if (!isWhole || seal.number !== number || head.number !== number) throw new Error('not this one');
  const before = (head.before as unknown[]).filter(isPrunedChain);
  return { previous: seal.previous, before, after: followed(before, links, receipts), entries: links.length };
}

/** The state of the chains after these links. Throws if a link does not follow the one before it. */
function followed(
  before: readonly PrunedChain[],
  links: readonly ArchivedLink[],
  receipts: Set<string>,
): ReadonlyMap<string, Link> {
  const reached = new Map<string, Link>(before.map(({ writer, ...link }) => [writer, link]));
  for (const { id, writer, seq, text, hash, mark } of links) {
    const last = reached.get(writer) ?? chainStart;
    if (seq !== last.seq + 1 || linkHash('audit', writer, last, id, text) !== hash)
      throw new Error('not ours');
    reached.set(writer, { seq, hash, mark });
    receipts.delete(receiptOf(id, hash));
  }
  return reached;
}

/** Each archive must continue those before it, and the last must end where the log says. */
function gapsIn(read: readonly Read[], end: readonly PrunedChain[]): Finding[] {
  const reached = new Map<string, Link>();
  const isReached = ({ writer, seq, hash, mark }: PrunedChain) => {
    const { seq: last, ...at } = reached.get(writer) ?? chainStart;
    return last === seq && at.hash === hash && at.mark === mark;
  };
  const findings: Finding[] = [];
  for (const [index, { before, after }] of read.entries()) {
    if (!before.every(isReached))
      findings.push({ what: 'missing', where: `entries before archive ${index + 1}` });
    for (const [writer, link] of after) reached.set(writer, link);
  }
  if (!end.every(isReached)) findings.push({ what: 'missing', where: 'entries after the newest archive' });
  return findings;
}
