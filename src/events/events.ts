/**
 * Background work after a change: its event is delivered, events about expiry and missing secrets are created, and everything older than 30 days
 * is deleted in small steps. It runs once per second, and immediately after a commit.
 */
import { Chores } from '../base/chores.ts';
import type { NewId } from '../contract/id.ts';
import type { Domain } from '../domain/domain.ts';
import { mailSenderTo, type SmtpSettings } from '../egress/smtp.ts';
import type { Store } from '../store/store.ts';
import { Dispatcher } from './dispatcher.ts';
import { ExpiryWatch } from './expiry-watch.ts';
import { mailerWith } from './mail/mailer.ts';
import { senderClientInto } from './sender-client.ts';
import { StageWatch } from './stage-watch.ts';

interface EventsParts {
  readonly store: Store;
  readonly domain: Pick<Domain, 'stamps' | 'webhookTargets' | 'memberMails'>;
  readonly now: () => number;
  readonly newId: NewId;
  readonly random?: () => number;
  /** The private networks that the operator allowed. */
  readonly privateWebhooks: readonly string[];
  /** The address of the dashboard, for links; null if it is unknown. */
  readonly dashboard: string | null;
  /** The mail server; null if no mail is sent. Then the dashboard's address is known. */
  readonly smtp: SmtpSettings | null;
  readonly onError: (error: unknown) => void;
}

const beat = 1_000;
const cleanEvery = 3_600_000;
const kept = 30 * 24 * 3_600_000;
const cleaningStep = 500;

/** Returns a function that stops it. */
export async function startEvents(parts: EventsParts): Promise<() => Promise<void>> {
  const { store, domain, now, newId, smtp, onError, random = Math.random } = parts;
  const sender = senderClientInto(parts.privateWebhooks);
  const chores = new Chores(onError);
  const poke = () => dispatcher.poke();
  const watch = new ExpiryWatch({ store, stamps: domain.stamps, now, newId, onError, onEvent: poke });
  const stageWatch = new StageWatch({ store, stamps: domain.stamps, now, newId, onError, onEvent: poke });
  const mails = domain.memberMails(onError);
  const dispatcher = new Dispatcher({
    store,
    targets: domain.webhookTargets(onError),
    mails,
    sender,
    now,
    newId,
    random,
    dashboard: parts.dashboard,
    onError,
    onEvents: events => {
      const ids = [...new Set(events.filter(isChange).map(event => event.resource_id))];
      if (ids.length > 0) chores.once(() => watch.lookAt(ids));
    },
  });
  // Only one process serves an embedded database, so an existing lease was left by a process that died.
  if (store.engine === 'sqlite') await store.webhooks.abandon(null);
  store.onChange(dispatcher.changed);
  chores
    .every(beat, async () => poke())
    .every(beat, () => watch.look())
    .every(beat, () => stageWatch.look())
    .every(beat, cleaning(store, now));
  const mailSender = smtp === null ? null : mailSenderTo(smtp);
  if (mailSender !== null) {
    const dashboard = parts.dashboard!;
    chores.every(beat, mailerWith({ store, mails, sender: mailSender, dashboard, now, onError }).look);
  }
  poke();
  return async () => {
    await chores.stop();
    await dispatcher.stop();
    await sender.close();
    mailSender?.close();
  };
}

function isChange({ type }: { readonly type: string }): boolean {
  return type === 'resource.created' || type === 'resource.updated';
}

/** By the service's clock: at the start, and an hour after the last run. */
function cleaning(store: Store, now: () => number): () => Promise<boolean> {
  let cleanedAt = 0;
  return async () => {
    if (now() - cleanedAt < cleanEvery) return false;
    cleanedAt = now();
    const before = cleanedAt - kept;
    const more =
      (await store.deliveries.forget(before, cleaningStep)) === cleaningStep ||
      (await store.outbox.forget(before, cleaningStep)) === cleaningStep;
    if (more) cleanedAt = 0;
    return more;
  };
}
