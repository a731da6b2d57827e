/**
 * What the URL of a webhook must look like for its format, and what is read from it. The URLs of ntfy and Matrix name
 * where to publish; the credential that they need is a parameter of the URL, as it is part of the URLs of Slack, Teams
 * and Discord. Pure.
 */
import { type WebhookFormat, webhookFormats } from '../../contract/names.ts';

export interface NtfyTopic {
  /** The server, to which messages are published as JSON. */
  readonly server: string;
  readonly topic: string;
}

export interface MatrixRoom {
  /** The address to which the id of a message is appended. */
  readonly send: string;
  readonly accessToken: string;
}

const topicPath = /^(.*\/)([-_A-Za-z0-9]{1,64})$/;
const roomPath = /^(?:\/[^/]+)*\/_matrix\/client\/v3\/rooms\/(?:!|%21)[^/]+\/send\/m\.room\.message$/i;
const tokenText = /^[\x21-\x7e]{1,1024}$/;

/** Null if the last part of the path is not a topic. */
export function ntfyTopicIn(text: string): NtfyTopic | null {
  const url = new URL(text);
  const [, folder, topic] = topicPath.exec(url.pathname) ?? [];
  if (folder === undefined || topic === undefined) return null;
  url.pathname = folder;
  url.hash = '';
  return { server: url.href, topic };
}

/** Null if the path is not that of sending messages to a room, or the access token is missing. */
export function matrixRoomIn(text: string): MatrixRoom | null {
  const url = new URL(text);
  const accessToken = url.searchParams.get('access_token') ?? '';
  if (!tokenText.test(accessToken) || !roomPath.test(url.pathname)) return null;
  return { send: `${url.origin}${url.pathname}`, accessToken };
}

/** Why messages in this format can't be sent to this URL, or null. */
export function formatRefusal(format: WebhookFormat, url: string): string | null {
  if (format === 'ntfy' && ntfyTopicIn(url) === null)
    return 'must end with the topic, for example https://ntfy.example.com/TOPIC';
  if (format === 'matrix' && matrixRoomIn(url) === null)
    return 'must be https://SERVER/_matrix/client/v3/rooms/ROOM/send/m.room.message?access_token=TOKEN';
  return null;
}

/** The format of a row, in which null stands for `standard`. */
export function formatOf({ format }: { readonly format: string | null }): WebhookFormat {
  return webhookFormats.find(one => one === format) ?? 'standard';
}
