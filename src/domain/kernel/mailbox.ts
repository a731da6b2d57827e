/**
 * Mails to members, stored in the unit of the change that they tell of, and sent later. What a mail tells is sealed,
 * because an invitation contains its token; it is bound to the mail, its organization and its member. Without a mail
 * server nothing is stored. A mail whose keyring version was retired before it was sent is lost.
 */

import type { Sealed } from '../../base/bytes.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { NewMail } from '../../store/records/mails.ts';
import type { MemberRow } from '../../store/records/organizations.ts';
import type { Parts } from './parts.ts';

export type MailNote =
  | { readonly kind: 'invitation'; readonly token: string; readonly by: string }
  | { readonly kind: 'sign_in'; readonly at: string; readonly address: string; readonly program: string }
  /** The payload of an event. */
  | { readonly kind: 'event'; readonly payload: string };

export type Recipient = Pick<MemberRow, 'id' | 'organization_id'>;
type Stored = Pick<NewMail, 'id' | 'organization_id' | 'member_id' | 'content'>;

export type Mailbox = ReturnType<typeof mailboxWith>;

export function mailboxWith(
  {
    store,
    keyring,
    keyringSync,
    now,
    newId,
  }: Pick<Parts, 'store' | 'keyring' | 'keyringSync' | 'now' | 'newId'>,
  isOn: boolean,
) {
  return {
    /** Whether the service sends mail. */
    isOn,

    /** Adds a mail; nothing if the service sends none. */
    post({ id: member_id, organization_id }: Recipient, note: MailNote, dueAt = now()): Statement[] {
      if (!isOn) return [];
      const id = newId();
      const text = Buffer.from(JSON.stringify({ member_id, note }), 'utf8');
      const content = keyring.organizationSealer(organization_id).seal(contentPlace(id), text);
      const row = { id, organization_id, member_id, content, due_at: dueAt, created_at: now() };
      return [store.mails.add(row)];
    },

    /** Throws if the mail is not as it was stored. */
    async open({ id, organization_id, member_id, content }: Stored): Promise<MailNote> {
      await keyringSync.ensureKeysFor(content);
      const plain = keyring.organizationSealer(organization_id).open(contentPlace(id), content as Sealed);
      const stored = JSON.parse(plain.toString('utf8')) as { member_id: string; note: MailNote };
      if (stored.member_id !== member_id) throw new Error('a mail was moved to another member');
      return stored.note;
    },
  };
}

function contentPlace(id: string) {
  return { type: 'mail', resource: id, field: 'content', version: 1 };
}
