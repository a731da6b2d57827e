/**
 * Slack's incoming webhooks: blocks of plain text, in which nothing is markup, a mention or a link. The text for
 * notifications is escaped as Slack requires, and is parsed for nothing.
 */
import { atMost, type Format, posted } from './format.ts';
import { linesOf } from './told.ts';

const longestSection = 3_000;
const longestHeader = 150;

export const slack: Format = ({ url, told }) => {
  const plain = (text: string) => ({ type: 'plain_text', text, emoji: false });
  const sentence = atMost(longestSection, [told.text, ...linesOf(told)].join('\n'));
  return posted(url, {
    text: escaped(`${told.title}: ${told.text}`),
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(atMost(longestHeader, told.title)) },
      { type: 'section', text: plain(sentence) },
      ...(told.link === null
        ? []
        : [{ type: 'context', elements: [{ type: 'mrkdwn', text: `<${told.link}|Open in Strongroom>` }] }]),
    ],
  });
};

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
