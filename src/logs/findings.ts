/** What the verifier finds, and what it says of all that it looked at. */
import type { Stream } from '../store/records/logs.ts';
import type { Continued } from './logged-link.ts';

export interface Finding {
  readonly what: /** A table, or what is attached to one, is not as the migrations made it, or an index does not match its table. */
    | 'altered-schema'
    | 'edited'
    | 'missing'
    | 'cut-off'
    /** Gone, and signed just before a standby took over that had not received it. */
    | 'lost-in-failover'
    | 'hashed-anew'
    | 'never-signed'
    | 'rolled-back'
    /** A row that the audit log does not name, or that is there twice. */
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
  /** What is in archives: how many there are, and whether they were verified. Null if there are none. */
  readonly archived: { readonly number: number; readonly entries: number | null } | null;
  /** Entries that no checkpoint covers yet. */
  readonly unsigned: number;
  /** How often entries are gone, and nothing but an entry that is not yet signed says that retention removed them. */
  readonly open: number;
  /** When the database went on with another timeline, by entries that are proven. */
  readonly continued: readonly Continued[];
  readonly findings: readonly Finding[];
}
