/**
 * Retention: removes log entries past their age, oldest first, a few at a time. Each removal is itself an entry in
 * the audit log, with the last link of each shortened chain, so that the verifier can distinguish retention from
 * tampering. It runs in the serving process: only that process can file its unfiled entries, and unfiled entries are
 * not counted.
 *
 * Request entries are deleted. Audit entries are moved to an archive, which is durable before they leave the
 * database. The newest revision of a row that still exists, which they prove, is recorded again in a new entry. Only
 * entries written with the keyring are archived: an entry that someone inserted or changed stops archiving.
 */
import { firstIdAt, timeOf } from '../../contract/id.ts';
import { iso } from '../../contract/text.ts';
import { dropArchive, writeArchive } from '../../logs/archive.ts';
import { type BlockPart, countsOf, partsIn } from '../../logs/blocks.ts';
import { chainStart, isMarked, type Link, linkHash } from '../../logs/chain.ts';
import type { Ledger } from '../../logs/ledger.ts';
import {
  type Archived,
  type ArchiveName,
  archivedAction,
  noteRemoved,
  type PrunedChain,
  prunedAction,
  removalIn,
} from '../../logs/logged-link.ts';
import { type Told, toldIn } from '../../logs/told-subjects.ts';
import type { Revisions } from '../../store/integrity/believing.ts';
import type { PlacedAuditRow } from '../../store/records/logs.ts';
import type { RequestBlockRow } from '../../store/records/request-logs.ts';
import type { Parts } from '../kernel/parts.ts';
import type { Subject, SubjectChange } from '../kernel/subjects.ts';

export interface Kept {
  /** Removal is permanent, so it must not be caused by a clock that jumps ahead. */
  readonly aged: () => number;
  /** 0 keeps everything. */
  readonly days: number;
}

export type Retention = ReturnType<typeof retentionWith>;

/** In blocks. */
const step = 50;
/** In entries per archive. */
const archiveStep = 1_000;
const day = 86_400_000;

/** The ends of the chains as of the newest archive. */
interface Standing {
  readonly archived: Archived | null;
  readonly audit: Map<string, Link>;
  readonly request: Map<string, Link>;
}

export function retentionWith(parts: Parts & { readonly ledger: Ledger; readonly revisions: Revisions }) {
  const { store, ledger, revisions, guard, keyring, now } = parts;

  /** The state recorded for the newest archive, if that entry was written with the keyring. */
  async function standing(): Promise<Standing> {
    const newest = await store.logs.newestOwn(archivedAction);
    if (newest === undefined) return { archived: null, audit: new Map(), request: new Map() };
    const { archived, audit, request } = removalIn({ text: newest.entry }) ?? never(newest);
    const said = { archived, audit: linksOf(audit), request: linksOf(request) };
    const before = (await store.logs.auditBefore(newest)) ?? said.audit.get(newest.writer) ?? chainStart;
    checkLink(newest, before);
    return said;
  }

  function checkLink(row: PlacedAuditRow, before: Link): void {
    const hash = linkHash('audit', row.writer, before, row.id, row.entry);
    if (row.seq !== before.seq + 1 || hash !== row.hash || !isMarked(keyring, hash, row.mark)) never(row);
  }

  function advance(rows: readonly PlacedAuditRow[], { audit, request }: Standing): void {
    for (const row of rows) {
      checkLink(row, audit.get(row.writer) ?? chainStart);
      audit.set(row.writer, linkOf(row));
      for (const chain of removalIn({ text: row.entry })?.request ?? []) noteRemoved(request, chain);
    }
  }

  /** If there are few entries, one archive per day, so that there are not more files than entries. */
  async function due({ aged, days }: Kept): Promise<PlacedAuditRow[]> {
    const rows = await store.logs.oldestAudits(archiveStep);
    const limit = aged() - days * day;
    const young = rows.findIndex(({ id }) => id >= firstIdAt(limit));
    const old = young < 0 ? rows : rows.slice(0, young);
    const isDue = old.length === archiveStep || (old.length > 0 && timeOf(old[0]!.id) < limit - day);
    return isDue ? old : [];
  }

  /** Writes the entries to a file, which is durable when this resolves, and advances the state past them. */
  function written(rows: readonly PlacedAuditRow[], stood: Standing, folder: string): Promise<ArchiveName> {
    const before = chainsOf(stood.audit, new Set(rows.map(({ writer }) => writer)));
    advance(rows, stood);
    const archive = {
      number: numberAfter(stood),
      createdAt: iso(now()),
      deployment: keyring.deployment,
      previous: stood.archived && { file: stood.archived.file, sha256: stood.archived.sha256 },
      before,
      links: rows.map(row => ({ ...linkOf(row), id: row.id, writer: row.writer, text: row.entry })),
    };
    return writeArchive(folder, archive, bytes => keyring.signCheckpoint(bytes));
  }

  /**
   * The revisions recorded in these entries, whose links were checked, for rows that still exist and have no newer
   * known revision. The database is asked only which rows exist: its own claim of the newest revision could be
   * forged.
   */
  async function proving(rows: readonly PlacedAuditRow[]): Promise<Told[]> {
    await revisions.follow();
    const newest = new Map<string, Told>();
    for (const { entry } of rows) {
      const told = toldIn(entry);
      if (told !== null && told.revision === revisions.newest(told.subject.id))
        newest.set(told.subject.id, told);
    }
    return (await store.logs.living([...newest.keys()])).map(id => newest.get(id)!);
  }

  /** Removes the entries from the database, which records where they are from then on. */
  async function taken(rows: readonly PlacedAuditRow[], stood: Standing, name: ArchiveName) {
    const ends = [rows[0]!.position, rows.at(-1)!.position] as const;
    const counts = countsOf('audit', rows.map(asOne)).map(row => ({ ...row, total: -row.total }));
    const carried = (await proving(rows)).map(carriedOf);
    // A row deleted by then must not be confirmed, because its last entry may be archived before the carried one.
    const statements = [
      ...store.logs.stillLiving(carried.map(({ id }) => id)),
      store.logs.removeAudits(ends, rows.length),
    ];
    if (counts.length > 0) statements.push(store.logs.count(counts));
    const chains = { chains: chainsOf(stood.audit), request_chains: chainsOf(stood.request) };
    const details = { number: numberAfter(stood), ...name, removed: rows.length, ...chains };
    return guard.maintain(archivedAction, { details, statements, carried });
  }

  return {
    /** Removes a few request entries; returns true if more may be left. */
    async prune({ aged, days }: Kept): Promise<boolean> {
      if (days === 0) return false;
      await ledger.settle();
      const blocks = await store.requestLogs.oldest(firstIdAt(aged() - days * day), step);
      if (blocks.length === 0) return false;
      const held = blocks.flatMap(({ text }) => partsIn(text));
      const counts = countsOf('request', held).map(row => ({ ...row, total: -row.total }));
      const statements = store.requestLogs.remove(
        blocks.map(({ id }) => id),
        counts.map(row => row.organization_id),
      );
      if (counts.length > 0) statements.push(store.logs.count(counts));
      await guard.maintain(prunedAction, { details: removedOf(blocks, held), statements });
      return blocks.length === step;
    },

    /** Moves a few audit entries to an archive in the folder; returns true if more may be left. */
    async archive(kept: Kept, folder: string): Promise<boolean> {
      if (kept.days === 0) return false;
      const rows = await due(kept);
      if (rows.length === 0) return false;
      const stood = await standing();
      const name = await written(rows, stood, folder);
      if ((await taken(rows, stood, name)) === 'refused') await dropArchive(folder, name);
      return rows.length === archiveStep;
    },
  };
}

function numberAfter({ archived }: Standing): number {
  return (archived?.number ?? 0) + 1;
}

function removedOf(blocks: readonly RequestBlockRow[], parts: readonly BlockPart[]) {
  const removed = parts.reduce((sum, { entries, requests }) => sum + (requests ?? entries), 0);
  return { removed, chains: chainsOf(new Map(blocks.map(block => [block.writer, linkOf(block)]))) };
}

function chainsOf(links: ReadonlyMap<string, Link>, among?: ReadonlySet<string>): PrunedChain[] {
  return [...links].flatMap(([writer, link]) => (among?.has(writer) === false ? [] : { writer, ...link }));
}

function linksOf(chains: readonly PrunedChain[]): Map<string, Link> {
  return new Map(chains.map(({ writer, ...link }) => [writer, link]));
}

function linkOf({ seq, hash, mark }: Link): Link {
  return { seq, hash, mark };
}

function asOne({ organization_id }: PlacedAuditRow) {
  return { organization_id, entries: 1, requests: null };
}

/** The record that the subject belongs to is repeated too. */
function carriedOf({ subject, revision, vault_id, details }: Told): SubjectChange {
  const { resource_id, member, identity_id } = details ?? {};
  return {
    ...(subject as Subject),
    revision,
    vaultId: (vault_id as string | null) ?? undefined,
    details: { resource_id, member, identity_id },
  };
}

function never({ writer, seq }: PlacedAuditRow): never {
  throw new Error(
    `nothing is archived: the audit entry ${seq} of writer ${writer} is not what was written; run strongroom audit verify`,
  );
}
