/**
 * Standard Webhooks: the payload as it was stored. What waits for a decision also gets the address of the page on which
 * a person decides, if the service knows its own address. Opening the page decides nothing.
 */
import type { Format } from './format.ts';

const waiting: ReadonlySet<string> = new Set(['approval.requested', 'proposal.created']);

export const standard: Format = ({ url, payload, event, told }) => {
  const withLink = waiting.has(event.type) && told.link !== null;
  const body = withLink ? JSON.stringify({ ...event, data: { ...event.data, url: told.link } }) : payload;
  return { method: 'POST', url, body, headers: {} };
};
