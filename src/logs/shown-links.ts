/**
 * Verifies log entries before they are shown. The mark proves that a link's hash is ours, and the hash that its text,
 * its id and its place in its chain are as written: an edited entry is an error, never an answer. For a list, the
 * preceding link is searched only among the nearest rows; if it isn't there, the entry is shown as not verified. For a
 * single entry the whole log is searched, and an entry that can't be verified is an error.
 */
import { Failure } from '../contract/errors.ts';
import type { PlacedAuditRow, Stream } from '../store/records/logs.ts';
import type { RequestBlockRow } from '../store/records/request-logs.ts';
import type { Store } from '../store/store.ts';
import { chainStart, isMarked, type Link, linkHash, type Marker } from './chain.ts';
import type { RevisionIndex } from './revision-index.ts';

/** A row, and whether its text was verified. */
export type Shown<R> = R & { readonly verified: boolean };

export type ShownLinks = ReturnType<typeof shownLinksWith>;

export interface ShownLinksParts {
  readonly store: Pick<Store, 'logs' | 'requestLogs'>;
  readonly keyring: Marker;
  /** Knows what retention removed. */
  readonly revisions: Pick<RevisionIndex, 'follow' | 'removed'>;
}

interface Kind<R, K> {
  readonly stream: Stream;
  readonly key: (row: R) => K;
  readonly text: (row: R) => string;
  readonly hashesBefore: (keys: readonly K[], nearest: number) => Promise<ReadonlyMap<K, string>>;
}

type Row = Link & { readonly id: string; readonly writer: string };

/** In rows, per entry of a list. */
const nearest = 1_000;
/** More rows than any log has. */
const all = 2 ** 31 - 1;

export function shownLinksWith({ store, keyring, revisions }: ShownLinksParts) {
  async function checked<R extends Row, K>(
    { stream, key, text, hashesBefore }: Kind<R, K>,
    rows: readonly R[],
    among: number,
  ): Promise<Shown<R>[]> {
    const keys = rows.filter(({ seq }) => seq > 1).map(key);
    const found = await hashesBefore(keys, among);
    // Retention may have removed the preceding link, even after the rows were read.
    if (keys.some(one => !found.has(one))) await revisions.follow();
    return rows.map(row => {
      const before = linkBefore(stream, row, found.get(key(row)));
      const { writer, id, hash, mark } = row;
      const isEdited = before !== null && linkHash(stream, writer, before, id, text(row)) !== hash;
      if (isEdited || !isMarked(keyring, hash, mark)) throw damaged(stream, row);
      if (before === null && among === all) throw damaged(stream, row);
      return { ...row, verified: before !== null };
    });
  }

  /** Null if it is not known. */
  function linkBefore(stream: Stream, { seq, writer }: Row, hash: string | undefined): Link | null {
    if (seq === 1) return chainStart;
    if (hash !== undefined) return { seq: seq - 1, hash, mark: keyring.chainMark(hash) };
    const removed = revisions.removed(stream, writer);
    return removed?.seq === seq - 1 ? removed : null;
  }

  const audit: Kind<PlacedAuditRow, number> = {
    stream: 'audit',
    key: ({ position }) => position,
    text: ({ entry }) => entry,
    hashesBefore: store.logs.hashesBefore,
  };
  const request: Kind<RequestBlockRow, string> = {
    stream: 'request',
    key: ({ id }) => id,
    text: row => row.text,
    hashesBefore: store.requestLogs.hashesBefore,
  };
  return {
    audits: (rows: readonly PlacedAuditRow[]) => checked(audit, rows, nearest),
    audit: async (row: PlacedAuditRow) => (await checked(audit, [row], all))[0]!,
    blocks: (rows: readonly RequestBlockRow[]) => checked(request, rows, nearest),
    block: async (row: RequestBlockRow) => (await checked(request, [row], all))[0]!,
  };
}

function damaged(stream: Stream, { writer, seq }: Row): Failure {
  const what = stream === 'audit' ? 'the audit entry' : 'the request block';
  const cause = new Error(
    `stored data is not as it was written: ${what} ${seq} of writer ${writer}, or the one before it; run strongroom audit verify`,
  );
  return new Failure('INTERNAL_ERROR', { cause });
}
