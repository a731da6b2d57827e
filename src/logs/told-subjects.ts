/**
 * What the audit log says about rows, collected from the texts that were just read: the newest revision of each
 * subject, and whether its row must still exist. Some rows are deleted without an entry of their own: the contents of a
 * purged vault, records of a removed member or identity, and expired ones. If an entry does not say what its subject
 * belongs to, the row is not reported as missing.
 */
import { hasEffect } from '../contract/audit-actions.ts';
import { readable } from './logged-link.ts';
import { SubjectTable } from './subject-table.ts';

/** An entry that names a revision. */
export interface Told {
  readonly actor?: { readonly kind?: unknown } | null;
  readonly action?: unknown;
  readonly subject: { readonly type?: unknown; readonly id: string };
  readonly revision: number;
  readonly vault_id?: unknown;
  readonly details?: Readonly<Record<string, unknown>> | null;
}

/** Returns null if the text names no revision, or can't be read. */
export function toldIn(text: string): Told | null {
  const told = readable(() => JSON.parse(text) as Partial<Told> & { outcome?: unknown });
  const isTold =
    told?.outcome === 'allowed' &&
    typeof told.subject?.id === 'string' &&
    Number.isSafeInteger(told.revision);
  return isTold ? (told as Told) : null;
}

/** The table of each type of subject, and how an entry names the id of its owner, with which the row is deleted. */
const rowsOf: Readonly<Record<string, { table: string; within?: (told: Told) => unknown }>> = {
  organization: { table: 'organizations' },
  member: { table: 'members' },
  group: { table: 'member_groups' },
  passkey: { table: 'passkeys', within: ({ details }) => details?.member },
  vault: { table: 'resources' },
  secret: { table: 'resources', within: ({ vault_id }) => vault_id },
  key: { table: 'resources', within: ({ vault_id }) => vault_id },
  certificate: { table: 'resources', within: ({ vault_id }) => vault_id },
  'use-rule': { table: 'use_rules', within: ({ details }) => details?.resource_id },
  stage: { table: 'stages' },
  webhook: { table: 'webhooks' },
  identity: { table: 'identities' },
  'api-key': { table: 'credentials' },
  'public-token': { table: 'credentials' },
  'access-key': { table: 'credentials', within: ({ actor, details }) => mintedBy(actor, details) },
  'secret-id': { table: 'credentials', within: ({ details }) => details?.identity_id },
};
const tables = [...new Set(Object.values(rowsOf).map(({ table }) => table))];

/** An access key issued to an identity is deleted after it expires, and so is one created with another. */
function mintedBy(actor: Told['actor'], details: Told['details']): unknown {
  const isKept = actor?.kind !== 'identity' && actor?.kind !== 'service';
  return isKept && details?.parent === undefined ? null : undefined;
}

const isThere = 1;
const isSeen = 2;
const isInTrash = 4;
/** The entry that would say so is archived. */
const mayBeInTrash = 8;
const tableShift = 4;
/** It has no owner. */
const alone = 0;
/** Its owner is not known, so it is not reported as missing. */
const unknown = 0xffff_ffff;

export class ToldSubjects {
  readonly #table = new SubjectTable();
  #flags = new Uint8Array(1_024);
  /** The place of each subject's owner, plus one. */
  #within = new Uint32Array(1_024);

  /** Adds an entry of the audit log. */
  note(text: string): void {
    const told = toldIn(text);
    if (told === null) return;
    const { subject, revision } = told;
    const known = this.#table.revisionOf(subject.id);
    const at = this.#table.raise(subject.id, revision);
    if (at >= 0 && revision >= known) this.#noteState(at, told, known === 0);
  }

  #noteState(at: number, told: Told, isNew: boolean): void {
    this.#makeRoom();
    const kept = rowsOf[String(told.subject!.type)];
    if (kept === undefined) return;
    const action = String(told.action);
    const state = hasEffect(action, 'removes') ? 0 : isThere;
    this.#flags[at] = state | this.#trashAfter(at, told, isNew) | (tables.indexOf(kept.table) << tableShift);
    const within = kept.within?.(told);
    if (typeof within === 'string') this.#within[at] = this.#placeOf(within);
    else if (isNew) this.#within[at] = kept.within === undefined || within === null ? alone : unknown;
  }

  #trashAfter(at: number, { action, revision }: Told, isNew: boolean): number {
    if (hasEffect(String(action), 'trashes')) return isInTrash;
    if (hasEffect(String(action), 'restores') || revision === 1) return 0;
    return isNew ? mayBeInTrash : this.#flags[at]! & (isInTrash | mayBeInTrash);
  }

  #placeOf(id: string): number {
    const at = this.#table.add(id);
    this.#makeRoom();
    return at < 0 ? unknown : at + 1;
  }

  #makeRoom(): void {
    if (this.#table.size < this.#flags.length) return;
    const [flags, within] = [this.#flags, this.#within];
    this.#flags = new Uint8Array(this.#table.size * 2);
    this.#flags.set(flags);
    this.#within = new Uint32Array(this.#table.size * 2);
    this.#within.set(within);
  }

  /** The newest revision of a row; 0 if the log contains none. */
  revisionOf(id: string): number {
    return this.#table.revisionOf(id);
  }

  /** Whether it was put in the trash; null if the entries don't say. */
  isInTrash(id: string): boolean | null {
    const flags = this.#flags[this.#table.find(id)] ?? mayBeInTrash;
    return (flags & mayBeInTrash) !== 0 ? null : (flags & isInTrash) !== 0;
  }

  /** Records that the row was found. */
  see(id: string): void {
    const at = this.#table.find(id);
    if (at >= 0) this.#flags[at]! |= isSeen;
  }

  /** Rows that must exist, but were not found. */
  *missing(): Iterable<{ readonly table: string; readonly id: string }> {
    for (let at = 0; at < this.#table.size; at++) {
      const flags = this.#flags[at]!;
      if ((flags & isThere) === 0 || (flags & isSeen) !== 0 || !this.#mustStay(at)) continue;
      yield { table: tables[flags >> tableShift]!, id: this.#table.idAt(at) };
    }
  }

  /** Whether all its owners exist too. */
  #mustStay(at: number, depth = 0): boolean {
    const within = this.#within[at]!;
    if (within === alone || within - 1 === at) return true;
    const owner = within - 1; // If unknown, this place has no flags, so the owner counts as missing.
    return depth <= 10 && (this.#flags[owner]! & isThere) !== 0 && this.#mustStay(owner, depth + 1);
  }
}
