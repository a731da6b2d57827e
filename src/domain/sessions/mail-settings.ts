/**
 * What a person is told by mail, as they choose it, and the networks from which they have signed in. A sign-in from a
 * new network is told to its person, except the first one that is known. Networks are stored as keyed digests.
 */
import { isIP } from 'node:net';
import type { Caller, Origin } from '../../access/caller.ts';
import type { MailChoices, MailChoicesUpdate } from '../../contract/mail.ts';
import { iso } from '../../contract/text.ts';
import { logText } from '../../logs/entries.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { MailSettingsRow } from '../../store/records/mails.ts';
import type { Mailbox } from '../kernel/mailbox.ts';
import type { Parts } from '../kernel/parts.ts';
import { accountSubject, type Person } from '../people/people.ts';

/** Who is signed in. */
interface Own {
  readonly caller: Caller;
  readonly person: Person;
}

export type Choices = Omit<MailChoices, 'enabled'>;

const byDefault: Choices = { expiry: 'daily', approvals: 'immediately', sign_in: 'immediately' };
const mostPlaces = 20;

export type MailSettings = ReturnType<typeof mailSettingsWith>;

export function mailSettingsWith({ store, keyring, guard, now }: Parts, mailbox: Mailbox) {
  const load = async (memberId: string): Promise<MailSettingsRow> =>
    (await store.mails.settings(memberId)) ?? { member_id: memberId, choices: '{}', places: '[]' };

  return {
    get: async ({ person }: Own): Promise<MailChoices> => ({
      enabled: mailbox.isOn,
      ...choicesIn(await load(person.member.id)),
    }),

    set: async ({ caller, person }: Own, body: MailChoicesUpdate): Promise<MailChoices> => {
      const before = await load(person.member.id);
      const old = choicesIn(before);
      const choices: Choices = {
        expiry: body.expiry ?? old.expiry,
        approvals: body.approvals ?? old.approvals,
        sign_in: body.sign_in ?? old.sign_in,
      };
      await guard.own(caller, 'account.mail_chosen', {
        subjects: [{ ...accountSubject(person.account, person.member.email), details: choices }],
        statements: [store.mails.setSettings({ ...before, choices: JSON.stringify(choices) })],
        touches: [],
      });
      return { enabled: mailbox.isOn, ...choices };
    },

    /** What a sign-in from here stores: the place, if it is new, and a mail about it. */
    signedIn: async ({ member }: Person, { address, userAgent }: Origin): Promise<Statement[]> => {
      if (!mailbox.isOn) return [];
      const before = await load(member.id);
      const known = JSON.parse(before.places) as string[];
      const place = Buffer.from(keyring.tokenDigest(`place ${member.id} ${signInNetworkOf(address)}`))
        .subarray(0, 12)
        .toString('base64url');
      if (known.includes(place)) return [];
      const places = JSON.stringify([place, ...known].slice(0, mostPlaces));
      const isTold = known.length > 0 && choicesIn(before).sign_in !== 'off';
      const note = { kind: 'sign_in', at: iso(now()), address, program: logText(userAgent) ?? '' } as const;
      return [store.mails.setSettings({ ...before, places }), ...(isTold ? mailbox.post(member, note) : [])];
    },
  };
}

export function choicesIn({ choices }: Pick<MailSettingsRow, 'choices'>): Choices {
  return { ...byDefault, ...(JSON.parse(choices) as Partial<Choices>) };
}

/** The first 24 bits of an IPv4 address, and 48 of an IPv6 address: providers change the rest. */
function signInNetworkOf(address: string): string {
  if (isIP(address) !== 6) return address.split('.').slice(0, 3).join('.');
  const [front = '', back = ''] = address.split('::');
  const before = front.split(':').filter(part => part !== '');
  const after = back.split(':').filter(part => part !== '');
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 3).join(':');
}
