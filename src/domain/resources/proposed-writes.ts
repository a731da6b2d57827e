/**
 * Does what was proposed: from the data that is sealed in a proposal to the statements that store it, on the revisions
 * that it was proposed for. Whatever depends on the day or on its author is checked again. Refuses what was changed
 * since, a certificate that has expired, and a template that its author could no longer write.
 */
import type { Caller } from '../../access/caller.ts';
import { hasEffect } from '../../contract/audit-actions.ts';
import { Failure } from '../../contract/errors.ts';
import type { ResourceRow } from '../../store/records/resources.ts';
import type { Parts } from '../kernel/parts.ts';
import type { GuardedChange, SubjectChange } from '../kernel/subjects.ts';
import type { Records } from './records.ts';
import type { OpenVault } from './sealing.ts';
import type { StoredPart } from './templates.ts';
import type { ProposedWrite, ResourceChanges, Write } from './writes.ts';

type Part = Required<Pick<GuardedChange, 'subjects' | 'statements'>>;

export function proposedWritesWith({ store, stamps, now }: Parts, records: Records) {
  /** What was proposed, on the revisions that it was proposed for. */
  async function partsOf(
    vault: OpenVault,
    author: Caller,
    writes: readonly ProposedWrite[],
  ): Promise<Part[]> {
    const stored: Write[] = [];
    const others: Part[] = [];
    for (const write of writes) {
      if (write.do === 'create') {
        const draft = await linked(author, vault, write.draft, null);
        stored.push(asDone(write, records.creationOf(author, vault, draft)));
      } else {
        const before = await boundTo(author.organizationId, write.shown.id, write.revision);
        if (write.do === 'update') stored.push(asDone(write, await updateOf(author, before, vault, write)));
        else others.push(verbed(write, await trashOf(author, before, write)));
      }
    }
    const [first, ...more] = stored.map(({ subject }) => subject);
    if (first === undefined) return others;
    return [{ subjects: [first, ...more], statements: records.statementsOf(stored) }, ...others];
  }

  async function boundTo(organizationId: string, id: string, revision: number): Promise<ResourceRow> {
    const found = await store.resources.byId(organizationId, id);
    const row = found && stamps.resource.believe<ResourceRow>(found);
    if (row?.revision === revision) return row;
    throw new Failure('CONFLICT', { message: 'What this would change was changed since it was proposed' });
  }

  async function updateOf(
    author: Caller,
    before: ResourceRow,
    vault: OpenVault,
    { verb, changes }: ProposedWrite & { do: 'update' },
  ): Promise<Write> {
    checkExpiry(before, changes);
    const wanted = await linked(author, vault, changes, before.id);
    const write = records.revisionOf<never>(author, before, vault, wanted);
    const value = hasEffect(verb, 'reverts') ? 'earlier' : 'new';
    // An access key proposes nothing but a new value.
    if (author.kind !== 'service')
      await records.checkExposure(author, before, write.row, write.version === null ? 'same' : value);
    return write;
  }

  /** A template may be stored if its author could write it now. */
  async function linked<C extends ResourceChanges>(
    author: Caller,
    { row }: OpenVault,
    changes: C,
    id: string | null,
  ): Promise<C> {
    const { template } = changes;
    if (template === undefined) return changes;
    const parts = JSON.parse(template.text) as StoredPart[];
    return { ...changes, template: await records.links.link(author, row, parts, id).catch(asUnresolvable) };
  }

  /** A version of a certificate that has expired would take it away from its readers. */
  function checkExpiry({ type }: ResourceRow, { value, expirationDate }: ResourceChanges): void {
    const isOver = type === 'certificate' && value !== undefined && (expirationDate ?? now() + 1) <= now();
    if (isOver) throw new Failure('CONFLICT', { message: 'The proposed certificate has expired' });
  }

  async function trashOf(
    author: Caller,
    before: ResourceRow,
    write: ProposedWrite & { do: 'remove' | 'restore' },
  ): Promise<Part> {
    if (write.do === 'remove') return records.removal<never>(before, write.purge);
    const { row: _, ...part } = await records.restoration<never>(author, before);
    return part;
  }

  return { partsOf };
}

function asDone(write: ProposedWrite, prepared: Write): Write {
  return { ...prepared, subject: { ...prepared.subject, verb: write.verb } };
}

function verbed({ verb }: ProposedWrite, { subjects: [first, ...others], statements }: Part): Part {
  const named = (subject: SubjectChange): SubjectChange => ({ ...subject, verb });
  return { subjects: [named(first), ...others.map(named)], statements };
}

/** Whoever confirms it did not write it, so what is wrong with it is no fault of theirs. */
function asUnresolvable(error: unknown): never {
  if (!(error instanceof Failure) || error.code !== 'INVALID_REQUEST') throw error;
  throw new Failure('CONFLICT', { message: 'Its author could no longer write this template' });
}
