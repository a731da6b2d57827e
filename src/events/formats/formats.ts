/** All formats, and the request that an event becomes in one of them. */
import type { WebhookFormat } from '../../contract/names.ts';
import { discord } from './discord.ts';
import type { Format, FormattedRequest, Message } from './format.ts';
import { matrix } from './matrix.ts';
import { ntfy } from './ntfy.ts';
import { slack } from './slack.ts';
import { standard } from './standard.ts';
import { teams } from './teams.ts';
import { type EventPayload, toldOf } from './told.ts';

const formats: Readonly<Record<WebhookFormat, Format>> = { standard, slack, teams, discord, ntfy, matrix };

export interface ToFormat extends Pick<Message, 'id' | 'url' | 'payload'> {
  readonly format: WebhookFormat;
  readonly vaultName: string | null;
  /** The address of the dashboard, if it is known. */
  readonly dashboard: string | null;
}

export function formatted({ format, vaultName, dashboard, ...message }: ToFormat): FormattedRequest {
  const event = JSON.parse(message.payload) as EventPayload;
  return formats[format]({ ...message, event, told: toldOf(event, vaultName, dashboard) });
}
