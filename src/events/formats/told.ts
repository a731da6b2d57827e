/**
 * What an event says, as plain text for people: a title, a sentence, facts, and a link into the dashboard. Names are
 * cleared of characters that are invisible or change the direction of text; each format escapes the rest. The link
 * leads to a page that shows something and changes nothing by being opened.
 */
/** An event's payload, as it was stored. */
export interface EventPayload {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>> & {
    readonly id: string;
    readonly vault_id: string | null;
  };
}

export interface Told {
  readonly title: string;
  readonly text: string;
  readonly facts: readonly (readonly [string, string])[];
  /** Null if the service doesn't know its own address. */
  readonly link: string | null;
  readonly urgency: 'info' | 'warning' | 'problem';
  readonly timestamp: string;
}

interface Telling {
  readonly title: string;
  /** `what` is the kind and the name of what the event is about. */
  readonly text: (what: string, data: Texts) => string;
  readonly urgency?: Told['urgency'];
}

type Texts = (name: string) => string;

/** A test finds every event here. */
export const tellings: Readonly<Record<string, Telling>> = {
  'resource.created': { title: 'Created', text: what => `${what} was created.` },
  'resource.updated': { title: 'Updated', text: what => `${what} was updated.` },
  'resource.deleted': { title: 'Deleted', text: what => `${what} was deleted.`, urgency: 'warning' },
  'resource.near_expiry': {
    title: 'Expires soon',
    text: what => `${what} expires soon.`,
    urgency: 'warning',
  },
  'resource.expired': { title: 'Expired', text: what => `${what} has expired.`, urgency: 'problem' },
  'access_key.created': { title: 'Access key created', text: what => `${what} was created.` },
  'access_key.revoked': { title: 'Access key revoked', text: what => `${what} was revoked.` },
  'approval.requested': {
    title: 'Approval required',
    text: what => `A call under ${what} is waiting for an approval.`,
    urgency: 'warning',
  },
  'role.requested': {
    title: 'Role requested',
    text: (_what, data) => `${quoted(data('name'))} asks for the role ${data('role')}.`,
    urgency: 'warning',
  },
  'role.decided': {
    title: 'Role request decided',
    text: (_what, data) =>
      `The request of ${quoted(data('name'))} for the role ${data('role')} was ${data('state')}.`,
  },
  'stage.secret_missing': {
    title: 'Secret missing',
    text: (what, data) => `${quoted(data('secret'))} is missing in the last vault of ${what}.`,
    urgency: 'warning',
  },
  'proposal.created': {
    title: 'Review required',
    text: what => `${what} is waiting for a review.`,
    urgency: 'warning',
  },
  'proposal.confirmed': { title: 'Write confirmed', text: what => `${what} was confirmed.` },
  'proposal.rejected': { title: 'Write rejected', text: what => `${what} was rejected.` },
  'proposal.expired': { title: 'Review expired', text: what => `${what} expired before anyone decided.` },
  'proposal.bypassed': {
    title: 'Review bypassed',
    text: what => `${what} was made without a review.`,
    urgency: 'problem',
  },
  'lease.created': { title: 'Credential issued', text: what => `${what} was issued.` },
  'lease.revoked': { title: 'Credential ended', text: what => `${what} has ended and was removed.` },
  'lease.revocation_failed': {
    title: 'Credential not removed',
    text: what => `${what} could not be removed.`,
    urgency: 'problem',
  },
  'run.created': { title: 'Run started', text: what => `${what} was started.` },
  'run.ended': { title: 'Run ended', text: what => `${what} has ended.` },
  'secret.rotated': { title: 'Rotated', text: what => `${what} was rotated.` },
  'rotation.failed': {
    title: 'Rotation failed',
    text: what => `${what} could not be rotated.`,
    urgency: 'problem',
  },
  'webhook.disabled': {
    title: 'Webhook disabled',
    text: what => `${what} was disabled.`,
    urgency: 'problem',
  },
  'webhook.test': { title: 'Test message', text: what => `${what} works.` },
};

const nouns: Readonly<Record<string, string>> = {
  vault: 'The vault',
  secret: 'The secret',
  key: 'The key',
  certificate: 'The certificate',
  access_key: 'The access key',
  approval: 'the use rule',
  proposal: 'The write of',
  stage: 'the stage',
  lease: 'A credential from',
  webhook: 'The webhook',
  run: 'The run',
};

const factNames: Readonly<Record<string, string>> = {
  version: 'Version',
  expiration_date: 'Expires',
  until: 'Until',
  reason: 'Reason',
};

const reasons: Readonly<Record<string, string>> = {
  gone: 'the receiver answered that it is gone',
  failing: 'no delivery succeeded for three days',
};

const longestName = 255;

/** `vaultName` is null if the event is about no vault, or about a vault that is gone. */
export function toldOf(event: EventPayload, vaultName: string | null, dashboard: string | null): Told {
  const { type, timestamp, data } = event;
  const texts: Texts = name => (data[name] == null ? '' : shownText(String(data[name])));
  const telling = tellings[type] ?? {
    title: 'Event',
    text: (what: string) => `${what}: ${type}.`,
  };
  const noun = nouns[texts('type')] ?? 'The record';
  const what = `${noun} ${quoted(texts('name'))}`;
  const facts = Object.entries(factNames).flatMap(([name, label]) => {
    const text = texts(name);
    return text === '' ? [] : [[label, shownFact(name, text)] as const];
  });
  const isVault = data.type === 'vault';
  return {
    title: telling.title,
    text: telling.text(what, texts),
    facts: [...(vaultName === null || isVault ? [] : [['Vault', shownText(vaultName)] as const]), ...facts],
    link: dashboard === null ? null : `${dashboard}${pathOf(event)}`,
    urgency: telling.urgency ?? 'info',
    timestamp,
  };
}

/** The page of the dashboard about an event. */
export function pathOf({ type, data: { id, vault_id } }: EventPayload): string {
  const [kind] = type.split('.');
  if (kind === 'approval') return `/approvals/${id}`;
  if (kind === 'proposal') return `/proposals/${id}`;
  if (kind === 'role') return '/approvals';
  if (kind === 'stage') return '/compare';
  if (kind === 'webhook') return `/webhooks/${id}`;
  return vault_id === null ? '/' : `/vaults/${vault_id}`;
}

function shownFact(name: string, text: string): string {
  if (name === 'expiration_date' || name === 'until') return `${text.slice(0, 16).replace('T', ' ')} UTC`;
  return name === 'reason' ? (reasons[text] ?? text) : text;
}

/** Removes control, format and unassigned characters, which include invisible ones and changes of direction. */
export function shownText(text: string): string {
  return text
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .slice(0, longestName)
    .toWellFormed();
}

function quoted(name: string): string {
  return `“${name}”`;
}

/** Keeps addresses in names from becoming links, and names from becoming mentions, where text is shown as it is. */
export function unlinked(text: string): string {
  return text.replaceAll(/:(?=\/\/)|[@#]/g, `$&${wordJoiner}`);
}

const wordJoiner = '\u2060';

/** The facts as lines of plain text. */
export function linesOf({ facts }: Told): string[] {
  return facts.map(([label, text]) => `${label}: ${text}`);
}
