/**
 * What mails say, as plain text. Names come from others: they lose invisible characters and line breaks, so they add no
 * lines and no headers, and can't be mistaken for the service's own words. Several messages become one mail.
 */
import type { ReadyMail } from '../../domain/operations/member-mails.ts';
import { type EventPayload, linesOf, shownText, toldOf, unlinked } from '../formats/told.ts';

export interface Letter {
  readonly subject: string;
  readonly text: string;
}

interface Part {
  readonly title: string;
  readonly lines: readonly string[];
  readonly link: string | null;
}

const longestSubject = 150;

/** The notes are all for one member. */
export function letterOf(mails: readonly ReadyMail[], dashboard: string): Letter {
  const parts = mails.map(mail => partOf(mail, dashboard));
  const organization = shownText(mails[0]!.organization);
  const [first] = parts;
  const subject = parts.length === 1 ? first!.title : `${parts.length} messages`;
  const body = parts.map(({ title, lines, link }) =>
    [...(parts.length === 1 ? [] : [title]), ...lines, ...(link === null ? [] : [link])].join('\n'),
  );
  const isMember = mails.every(({ note }) => note.kind !== 'invitation');
  const footer = isMember ? `\n--\nChoose what you are told: ${dashboard}/settings/security\n` : '';
  return {
    subject: `${subject} (${organization})`.slice(0, longestSubject).toWellFormed(),
    text: `${body.join('\n\n')}\n${footer}`,
  };
}

function partOf({ note, organization, vaultName }: ReadyMail, dashboard: string): Part {
  const shown = (text: string) => unlinked(shownText(text));
  if (note.kind === 'invitation') {
    return {
      title: 'Invitation to Strongroom',
      lines: [
        `${shown(note.by)} invites you to “${shown(organization)}” in Strongroom, a vault for secrets.`,
        'The link works once, within seven days. If you don’t expect this invitation, ignore it.',
        '',
      ],
      link: `${dashboard}/invite#${note.token}`,
    };
  }
  if (note.kind === 'sign_in') {
    return {
      title: 'Sign-in from a new place',
      lines: [
        `Someone signed in as you from ${shown(note.address)} at ${note.at.slice(0, 16).replace('T', ' ')} UTC.`,
        `Program: ${shown(note.program) || 'unknown'}`,
        'If this was not you, end the session and change how you sign in:',
      ],
      link: `${dashboard}/settings/security`,
    };
  }
  const told = toldOf(JSON.parse(note.payload) as EventPayload, vaultName, dashboard);
  return { title: told.title, lines: [told.text, ...linesOf(told)].map(unlinked), link: told.link };
}
