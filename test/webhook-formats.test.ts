/** The formats of webhooks: each as its service documents it, without markup, mentions or links from names. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventKinds, testKind, type WebhookFormat, webhookFormats } from '../src/contract/names.ts';
import { formatted } from '../src/events/formats/formats.ts';
import { tellings } from '../src/events/formats/told.ts';
import { onBothEngines } from './at-once.ts';
import { type Service, startService } from './harness.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const id = '0199a3c4-7f00-7abc-8def-0123456789ab';
const vaultId = '0199a3c4-7e00-7abc-8def-0123456789ab';
const dashboard = 'https://vault.example.com';
const room = '/_matrix/client/v3/rooms/!room:example.org/send/m.room.message';
const urls: Readonly<Record<WebhookFormat, string>> = {
  standard: 'https://example.com/hook',
  slack: 'https://hooks.slack.com/services/T000/B000/XXXX',
  teams: 'https://prod-00.westus.logic.azure.com/workflows/00/triggers/manual/paths/invoke?sig=XXXX',
  discord: 'https://discord.com/api/webhooks/0000/XXXX',
  ntfy: 'https://ntfy.example.com/base/vault-alerts?auth=XXXX',
  matrix: `https://matrix.example.org${room}?access_token=syt_XXXX`,
};

function payloadOf(type: string, data: object = {}) {
  const common = { id, type: 'secret', name: 'DATABASE_URL', vault_id: vaultId, version: 4 };
  return JSON.stringify({ type, timestamp: '2026-11-15T09:30:00.000Z', data: { ...common, ...data } });
}

function requestOf(format: WebhookFormat, payload: string, vaultName: string | null = 'production') {
  return formatted({ id: 'event-1', url: urls[format], payload, format, vaultName, dashboard });
}

function bodyOf(format: WebhookFormat, payload: string, vaultName?: string | null) {
  return JSON.parse(requestOf(format, payload, vaultName).body);
}

const chats = webhookFormats.filter(format => format !== 'standard');
const expiring = payloadOf('resource.near_expiry', { expiration_date: '2026-11-22T09:30:00.000Z' });

describe('the formats of webhooks', () => {
  it('standard is the payload, byte for byte', () => {
    assert.deepEqual(requestOf('standard', expiring), {
      method: 'POST',
      url: urls.standard,
      body: expiring,
      headers: {},
    });
  });

  it('Slack gets blocks, as its incoming webhooks take them', () => {
    assert.deepEqual(bodyOf('slack', expiring), {
      text: 'Expires soon: The secret “DATABASE_URL” expires soon.',
      mrkdwn: false,
      parse: 'none',
      link_names: false,
      unfurl_links: false,
      unfurl_media: false,
      blocks: [
        { type: 'header', text: { type: 'plain_text', text: 'Expires soon', emoji: false } },
        {
          type: 'section',
          text: {
            type: 'plain_text',
            text: 'The secret “DATABASE_URL” expires soon.\nVault: production\nVersion: 4\nExpires: 2026-11-22 09:30 UTC',
            emoji: false,
          },
        },
        {
          type: 'context',
          elements: [{ type: 'mrkdwn', text: `<${dashboard}/vaults/${vaultId}|Open in Strongroom>` }],
        },
      ],
    });
  });

  it('Teams gets a message with an Adaptive Card, as the webhook of a workflow takes it', () => {
    const run = (text: string) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] });
    assert.deepEqual(bodyOf('teams', expiring), {
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
              {
                type: 'TextBlock',
                text: 'Expires soon',
                weight: 'Bolder',
                size: 'Medium',
                wrap: true,
                color: 'Warning',
              },
              run('The secret “DATABASE_URL” expires soon.'),
              run('Vault: production'),
              run('Version: 4'),
              run('Expires: 2026-11-22 09:30 UTC'),
            ],
            actions: [
              { type: 'Action.OpenUrl', title: 'Open in Strongroom', url: `${dashboard}/vaults/${vaultId}` },
            ],
          },
        },
      ],
    });
  });

  it('Discord gets an embed that mentions nobody', () => {
    assert.deepEqual(bodyOf('discord', expiring), {
      allowed_mentions: { parse: [] },
      embeds: [
        {
          title: 'Expires soon',
          description:
            'The secret “DATABASE\\_URL” expires soon\\.\nVault\\: production\nVersion\\: 4\nExpires\\: 2026\\-11\\-22 09\\:30 UTC',
          color: 0xf0a020,
          timestamp: '2026-11-15T09:30:00.000Z',
          url: `${dashboard}/vaults/${vaultId}`,
        },
      ],
    });
  });

  it('ntfy is published as JSON to the server, with the topic from the URL', () => {
    const request = requestOf('ntfy', expiring);
    assert.deepEqual([request.method, request.url], ['POST', 'https://ntfy.example.com/base/?auth=XXXX']);
    assert.deepEqual(JSON.parse(request.body), {
      topic: 'vault-alerts',
      title: 'Expires soon',
      message:
        'The secret “DATABASE_URL” expires soon.\nVault: production\nVersion: 4\nExpires: 2026-11-22 09:30 UTC',
      priority: 4,
      tags: ['warning'],
      click: `${dashboard}/vaults/${vaultId}`,
    });
  });

  it('Matrix gets a message event under the event’s id, with the access token in the header alone', () => {
    const request = requestOf('matrix', expiring);
    assert.equal(request.method, 'PUT');
    assert.equal(request.url, `https://matrix.example.org${room}/event-1`);
    assert.deepEqual(request.headers, { authorization: 'Bearer syt_XXXX' });
    const { body, formatted_body, ...rest } = JSON.parse(request.body);
    assert.deepEqual(rest, {
      msgtype: 'm.text',
      format: 'org.matrix.custom.html',
      'm.mentions': {},
    });
    assert.match(body, /^Expires soon\nThe secret “DATABASE_URL” expires soon\.\nVault: production\n/);
    assert.match(
      formatted_body,
      /^<strong>Expires soon<\/strong><br>The secret “DATABASE_URL” expires soon\./,
    );
    assert.ok(!request.body.includes('syt_'));
  });

  it('what waits for a decision has the address of its page in every format', () => {
    for (const format of webhookFormats) {
      for (const [type, page] of [
        ['approval.requested', 'approvals'],
        ['proposal.created', 'proposals'],
      ] as const) {
        const { body } = requestOf(format, payloadOf(type, { type: page.slice(0, -1) }));
        assert.ok(body.includes(`${dashboard}/${page}/${id}`), `${format} ${type}`);
      }
    }
    const standard = bodyOf('standard', payloadOf('approval.requested', { type: 'approval' }));
    assert.equal(standard.data.url, `${dashboard}/approvals/${id}`);
  });

  it('every event has words of its own', () => {
    for (const kind of [...eventKinds, testKind]) assert.ok(kind in tellings, kind);
  });

  it('without an own address there is no link, and nothing else is missing', () => {
    for (const format of webhookFormats) {
      const payload = payloadOf('approval.requested', { type: 'approval' });
      const request = formatted({
        ...{ id: 'event-1', url: urls[format], payload, format },
        ...{ vaultName: null, dashboard: null },
      });
      assert.ok(!request.body.includes('/approvals/'), format);
      if (format === 'standard') assert.equal(request.body, payload);
    }
  });

  const hostile =
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Adaptive Cards evaluate such templates
    '<!channel> @everyone <@U1> [x](https://evil.example) **b** `c` </a><b>&amp; {{DATE(1)}} ${x} \u202Edesrever\u200B #room';

  const everyPayload = [...eventKinds, testKind].map(kind =>
    payloadOf(kind, {
      ...{ name: hostile, secret: hostile, role: 'reader', state: 'approved' },
      ...{ until: '2026-11-22T09:30:00.000Z', reason: 'gone' },
    }),
  );

  it('a name is no markup, mention or link for Slack, whatever the event', () => {
    for (const payload of everyPayload) {
      const { text, mrkdwn, parse, blocks } = bodyOf('slack', payload, hostile);
      assert.ok(!/[<>]/.test(text) && mrkdwn === false && parse === 'none', payload);
      const marked = blocks.filter((block: object) => JSON.stringify(block).includes('mrkdwn'));
      assert.equal(marked.length, 1);
      assert.match(
        marked[0].elements[0].text,
        /^<https:\/\/vault\.example\.com\/[a-z0-9/-]*\|Open in Strongroom>$/,
      );
    }
  });

  it('a name is no markup, mention or function for Teams, whatever the event', () => {
    for (const payload of everyPayload) {
      const card = bodyOf('teams', payload, hostile).attachments[0].content;
      const blocks = card.body.filter(({ type }: { type: string }) => type === 'TextBlock');
      assert.ok(!JSON.stringify(blocks).includes('evil'));
      assert.ok(!/\{\{|\$\{/.test(JSON.stringify(card)) && !('msteams' in card), payload);
    }
  });

  it('a name is no markup, mention or link for Discord, whatever the event', () => {
    for (const payload of everyPayload) {
      const { allowed_mentions, embeds } = bodyOf('discord', payload, hostile);
      assert.deepEqual(allowed_mentions, { parse: [] });
      assert.ok(!/(?<!\\)[<>@[\]()*`_~|#:]/.test(embeds[0].description), payload);
    }
  });

  it('a name is no markup, mention or link for ntfy and Matrix, whatever the event', () => {
    for (const payload of everyPayload) {
      const { message, markdown } = bodyOf('ntfy', payload, hostile);
      assert.ok(!message.includes('://') && markdown === undefined, payload);
      const matrix = bodyOf('matrix', payload, hostile);
      assert.deepEqual(matrix['m.mentions'], {});
      const tags = [...matrix.formatted_body.matchAll(/<(\/?\w+)[^>]*>/g)].map(([, name]) => name);
      assert.deepEqual(
        tags.filter(name => name !== 'br'),
        ['strong', '/strong', 'a', '/a'],
      );
      assert.ok(!matrix.body.replace(/\nhttps:\/\/vault.*$/, '').includes('://'), payload);
    }
  });

  it('a name contains nothing invisible, and doesn’t change the direction of the text', () => {
    for (const payload of everyPayload)
      for (const format of chats)
        assert.ok(!/[\u202E\u200B]/.test(requestOf(format, payload, hostile).body), payload);
  });

  it('a message contains nothing of an event but its name, place, dates and reasons', () => {
    for (const kind of [...eventKinds, testKind])
      for (const format of chats) {
        const payload = payloadOf(kind, {
          value: 'never shown',
          tags: { never: 'shown' },
          token: 'never shown',
        });
        assert.ok(!requestOf(format, payload).body.includes('never'), `${format} ${kind}`);
      }
  });

  it('the longest names stay within the services’ limits', () => {
    const longest = '𠮷'.repeat(127);
    const payload = payloadOf('stage.secret_missing', { name: longest, secret: longest });
    for (const { text } of bodyOf('slack', payload, longest).blocks)
      assert.ok((text?.text.length ?? 0) <= 3_000);
    assert.ok(bodyOf('discord', payload, longest).embeds[0].description.length <= 4_096);
    assert.ok(Buffer.byteLength(bodyOf('ntfy', payload, longest).message) <= 4_096);
  });
});

onBothEngines('webhooks with a format', engine => {
  let service: Service;
  let receiver: Receiver;
  let vault: string;

  before(async () => {
    receiver = await startReceiver();
    service = await startService({ engine });
    vault = (await service.call('POST', '/v1/vaults', { name: 'pro<duction' })).body.id;
  });
  after(async () => {
    await receiver.close();
    await service.stop();
  });

  const address = (path: string) => new URL(path, receiver.url).href;
  const created = (url: string, format?: string) =>
    service.call('POST', '/v1/webhooks', { url, format, events: ['resource.created'] });

  it('are standard unless something else is said, and show their format', async () => {
    const { body } = await created(receiver.url);
    assert.equal(body.format, 'standard');
    const changed = await service.call('PUT', `/v1/webhooks/${body.id}`, { format: 'slack' });
    assert.equal(changed.body.format, 'slack');
    assert.equal((await service.call('GET', `/v1/webhooks/${body.id}`)).body.format, 'slack');
    const back = await service.call('PUT', `/v1/webhooks/${body.id}`, { format: 'standard' });
    assert.equal(back.body.format, 'standard');
    const unknown = await created(receiver.url, 'pager');
    assert.equal(unknown.body.error.details.field, 'format');
    await service.call('DELETE', `/v1/webhooks/${body.id}`);
  });

  it('are refused if the URL doesn’t say where to publish, also when only one of the two changes', async () => {
    for (const [url, format] of [
      [address('/'), 'ntfy'],
      [address('/a%20topic'), 'ntfy'],
      [address('/hook'), 'matrix'],
      [address(room), 'matrix'],
      [address(`${room}?access_token=a%0Ab`), 'matrix'],
      [address(`${room}/x?access_token=a`), 'matrix'],
    ] as const) {
      const refused = await created(url, format);
      assert.deepEqual([refused.status, refused.body.error.details.field], [400, 'url'], url);
      assert.ok(!refused.text.includes('access_token=a'));
    }
    const { body } = await created(address('/topic'), 'ntfy');
    for (const change of [{ url: address('/') }, { format: 'matrix' }]) {
      const refused = await service.call('PUT', `/v1/webhooks/${body.id}`, change);
      assert.deepEqual([refused.status, refused.body.error.details.field], [400, 'url']);
    }
    await service.call('DELETE', `/v1/webhooks/${body.id}`);
  });

  it('get their own requests, with the name of the vault, and never a value', async () => {
    const paths: Readonly<Record<WebhookFormat, string>> = {
      ...{ standard: '/standard', slack: '/slack', teams: '/teams', discord: '/discord' },
      ...{ ntfy: '/topic', matrix: `${room}?access_token=syt_secret` },
    };
    const hooks: string[] = [];
    for (const format of webhookFormats) hooks.push((await created(address(paths[format]), format)).body.id);
    const value = 'the value that no message contains';
    await service.call('POST', '/v1/secrets', { vault_id: vault, name: 'NAME', value });
    const arrivals = await receiver.received(webhookFormats.length);
    for (const { text } of arrivals) assert.ok(!text.includes(value) && !text.includes('syt_secret'));
    const at = (start: string) => arrivals.find(({ path }) => path.startsWith(start))!;
    assert.equal(at('/standard').body.type, 'resource.created');
    assert.match(at('/slack').body.blocks[1].text.text, /Vault: pro<duction/);
    assert.equal(at('/teams').body.type, 'message');
    assert.match(at('/discord').body.embeds[0].description, /Vault\\: pro\\<duction/);
    const published = arrivals.find(({ path, body }) => path === '/' && body.topic === 'topic');
    assert.match(published!.body.message, /The secret “NAME” was created\./);
    const matrix = at('/_matrix');
    assert.equal(matrix.method, 'PUT');
    assert.equal(matrix.path, `${room}/${matrix.id}`);
    assert.equal(matrix.headers.authorization, 'Bearer syt_secret');
    assert.match(matrix.body.formatted_body, /Vault: pro&lt;duction/);
    for (const hook of hooks) await service.call('DELETE', `/v1/webhooks/${hook}`);
  });
});
