/** ntfy: published as JSON to the server, with the topic from the end of the URL. The text is plain, not Markdown. */
import { ntfyTopicIn } from '../../domain/webhooks/format-urls.ts';
import { atMost, type Format, posted } from './format.ts';
import { linesOf, type Told, unlinked } from './told.ts';

const longestMessage = 1_300; // Each character takes up to three bytes, and ntfy turns 4,096 bytes into an attachment.
const priorities: Readonly<Record<Told['urgency'], number>> = { info: 3, warning: 4, problem: 5 };
const tags: Readonly<Record<Told['urgency'], readonly string[]>> = {
  info: [],
  warning: ['warning'],
  problem: ['rotating_light'],
};

export const ntfy: Format = ({ url, told }) => {
  const { server, topic } = ntfyTopicIn(url)!;
  return posted(server, {
    topic,
    title: told.title,
    message: atMost(longestMessage, unlinked([told.text, ...linesOf(told)].join('\n'))),
    priority: priorities[told.urgency],
    tags: tags[told.urgency],
    ...(told.link !== null && { click: told.link }),
  });
};
