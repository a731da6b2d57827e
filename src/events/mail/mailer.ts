/**
 * Sends the mails that are due, as one mail for each member. A mail is tried for about a day, with growing pauses, and
 * then dropped and reported; one that its server refuses is dropped immediately. After a crash a mail can be sent twice,
 * with the same message id. Reports contain no address.
 */

import type { MemberMails, ReadyMail } from '../../domain/operations/member-mails.ts';
import type { MailSender } from '../../egress/smtp.ts';
import type { MailRow } from '../../store/records/mails.ts';
import type { Store } from '../../store/store.ts';
import { letterOf } from './letters.ts';

interface MailerParts {
  readonly store: Store;
  readonly mails: MemberMails;
  readonly sender: MailSender;
  /** The address of the dashboard, for links. */
  readonly dashboard: string;
  readonly now: () => number;
  readonly onError: (error: unknown) => void;
}

const batch = 50;
/** Longer than a batch takes: as many attempts as there are mails, at the longest. */
const claimed = 15 * 60_000;
const minute = 60_000;
/** Before each further attempt. */
const pauses = [1, 5, 15, 30, 60, 120, 240, 480, 480].map(minutes => minutes * minute);
const atOnce = 2;

export function mailerWith({ store, mails, sender, dashboard, now, onError }: MailerParts) {
  async function readyOf(row: MailRow): Promise<ReadyMail | null> {
    try {
      return await mails.ready(row);
    } catch (error) {
      onError(error);
      return null;
    }
  }

  async function sendAll(rows: readonly MailRow[]): Promise<void> {
    const found = await Promise.all(rows.map(async row => ({ row, ready: await readyOf(row) })));
    const outdated = found.filter(({ ready }) => ready === null).map(({ row }) => row.id);
    const sendable = found.flatMap(({ row, ready }) => (ready === null ? [] : { row, ready }));
    if (outdated.length > 0) await store.commit([{ statements: [store.mails.remove(outdated)] }]);
    if (sendable.length > 0) await sendOne(sendable);
  }

  async function sendOne(sendable: readonly { row: MailRow; ready: ReadyMail }[]): Promise<void> {
    const ids = sendable.map(({ row }) => row.id);
    const letter = letterOf(
      sendable.map(({ ready }) => ready),
      dashboard,
    );
    const { outcome, reason } = await sender.send({ id: ids[0]!, to: sendable[0]!.ready.address, ...letter });
    const tries = Math.max(...sendable.map(({ row }) => row.tries)) + 1;
    const pause = pauses[tries - 1];
    if (outcome === 'failed' && pause !== undefined) {
      if (tries === 1) onError(new Error(`a mail could not be sent and will be tried again: ${reason}`));
      await store.commit([{ statements: [store.mails.postpone(ids, now() + pause, tries)] }]);
      return;
    }
    if (outcome !== 'sent') onError(new Error(`a mail was dropped: ${reason}`));
    await store.commit([{ statements: [store.mails.remove(ids)] }]);
  }

  return {
    /** Sends a batch. Resolves to true if there may be more. */
    look: async (): Promise<boolean> => {
      const rows = await store.mails.claim(now(), now() + claimed, batch);
      const groups = [...Map.groupBy(rows, ({ member_id }) => member_id).values()];
      const worker = async () => {
        for (let group = groups.shift(); group !== undefined; group = groups.shift()) await sendAll(group);
      };
      await Promise.all(Array.from({ length: atOnce }, worker));
      return rows.length === batch;
    },
  };
}
