/** The verifier's findings and its report. */
import type { Stream } from '../store/records/logs.ts';
import type { Continued } from './logged-link.ts';

export interface Finding {
  readonly what: /** A table or an object attached to it differs from the migrations, or an index from its table. */
    | 'altered-schema'
    | 'edited'
    | 'missing'
    | 'cut-off'
    /** Missing, and signed just before a failover to a standby that had not received it. */
    | 'lost-in-failover'
    | 'hashed-anew'
    | 'never-signed'
    | 'rolled-back'
    /** A row that the audit log does not name, or that exists twice. */
    | 'inserted'
    | 'misdated'
    | 'no-checkpoint'
    | 'bad-checkpoint'
    | 'receipt-not-found';
  readonly where: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  readonly entries: Readonly<Record<Stream, number>>;
  readonly checkpoints: number;
  /** The external checkpoint that the logs were verified against; null if only their own checkpoints were used. */
  readonly kept: { readonly number: number; readonly created_at: string } | null;
  /** The number of archives, and of their entries if they were verified. Null if there are no archives. */
  readonly archived: { readonly number: number; readonly entries: number | null } | null;
  /** Entries that no checkpoint covers yet. */
  readonly unsigned: number;
  /** How often entries are missing, and only an entry that is not yet signed says that retention removed them. */
  readonly open: number;
  /** When the database continued on another timeline, according to proven entries. */
  readonly continued: readonly Continued[];
  readonly findings: readonly Finding[];
}
