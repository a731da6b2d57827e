/**
 * Matrix: an event of the type `m.room.message`, sent with the client API. The id of the message is the transaction, so a
 * repeated attempt shows nothing twice. The access token is sent in the header, and never in the address. The message
 * mentions nobody, and its HTML is escaped.
 */
import { matrixRoomIn } from '../../domain/webhooks/format-urls.ts';
import type { Format } from './format.ts';
import { linesOf, unlinked } from './told.ts';

export const matrix: Format = ({ id, url, told }) => {
  const { send, accessToken } = matrixRoomIn(url)!;
  const lines = [told.text, ...linesOf(told)].map(unlinked);
  const plain = [told.title, ...lines, ...(told.link === null ? [] : [told.link])];
  const link = told.link === null ? '' : `<br><a href="${escaped(told.link)}">Open in Strongroom</a>`;
  return {
    method: 'PUT',
    url: `${send}/${encodeURIComponent(id)}`,
    body: JSON.stringify({
      msgtype: 'm.text',
      body: plain.join('\n'),
      format: 'org.matrix.custom.html',
      formatted_body: `<strong>${escaped(told.title)}</strong><br>${lines.map(escaped).join('<br>')}${link}`,
      'm.mentions': {},
    }),
    headers: { authorization: `Bearer ${accessToken}` },
  };
};

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
