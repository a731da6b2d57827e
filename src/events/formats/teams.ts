/**
 * Microsoft Teams, through the webhook of a workflow: a message with an Adaptive Card. Names are in text runs, which are
 * not parsed as Markdown, and the card lists no entities, so nothing in it is a mention.
 */
import { atMost, type Format, posted } from './format.ts';
import { linesOf, type Told } from './told.ts';

const longestRun = 3_000;
const colors: Readonly<Record<Told['urgency'], string>> = {
  info: 'Default',
  warning: 'Warning',
  problem: 'Attention',
};

export const teams: Format = ({ url, told }) => {
  const paragraph = (text: string) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: withoutFunctions(atMost(longestRun, text)) }],
  });
  const title = { type: 'TextBlock', text: told.title, weight: 'Bolder', size: 'Medium', wrap: true };
  return posted(url, {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            { ...title, color: colors[told.urgency] },
            paragraph(told.text),
            ...linesOf(told).map(paragraph),
          ],
          actions:
            told.link === null
              ? []
              : [{ type: 'Action.OpenUrl', title: 'Open in Strongroom', url: told.link }],
        },
      },
    ],
  });
};

/** Cards evaluate functions such as `{{DATE(…)}}`, and templates `${…}`. */
function withoutFunctions(text: string): string {
  return text.replaceAll('{{', '{ {').replaceAll('${', '$ {');
}
