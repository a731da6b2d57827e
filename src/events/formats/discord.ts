/**
 * Discord's webhooks: an embed. All punctuation is escaped, so that names contain no markup and no links, and the message
 * may mention nobody.
 */
import { atMost, type Format, posted } from './format.ts';
import { linesOf, type Told } from './told.ts';

const longestDescription = 4_096;
const colors: Readonly<Record<Told['urgency'], number>> = {
  info: 0x5865f2,
  warning: 0xf0a020,
  problem: 0xd03030,
};

export const discord: Format = ({ url, told }) =>
  posted(url, {
    allowed_mentions: { parse: [] },
    embeds: [
      {
        title: told.title,
        description: atMost(longestDescription, [told.text, ...linesOf(told)].map(escaped).join('\n')),
        color: colors[told.urgency],
        timestamp: told.timestamp,
        ...(told.link !== null && { url: told.link }),
      },
    ],
  });

function escaped(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&');
}
