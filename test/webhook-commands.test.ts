/** `strongroom webhooks`: the URL is read like a secret, and lists show only its host. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { type Receiver, startReceiver } from './receiver.ts';
import { startTool, type Tool } from './tool.ts';

let tool: Tool;
let receiver: Receiver;
before(async () => {
  [tool, receiver] = await Promise.all([startTool({}), startReceiver()]);
});
after(async () => {
  await receiver.close();
  await tool.stop();
});

it('a webhook is created from a URL in a file, listed without it, tested and deleted', async () => {
  const file = join(tool.home, 'url.txt');
  writeFileSync(file, `${receiver.url}?credential=hidden\n`);
  const flags = ['--format', 'slack', '--event', 'resource.created,resource.expired', '--only', 'app'];
  const created = await tool.admin(['webhooks', 'create', 'alerts', `@${file}`, ...flags, '--json']);
  const { id, format, events, vault_ids } = JSON.parse(created.stdout);
  assert.deepEqual(
    [format, events, vault_ids],
    ['slack', ['resource.created', 'resource.expired'], [tool.vaultId]],
  );
  const { stdout } = await tool.admin(['webhooks', 'list']);
  assert.match(stdout, /^alerts +slack +127\.0\.0\.1:\d+ +working\n$/);
  assert.equal((await tool.admin(['webhooks', 'test', 'alerts'])).code, 0);
  const [arrival] = await receiver.received(1);
  assert.match(arrival!.body.text, /^Test message: The webhook “alerts” works\.$/);
  const deleted = await tool.admin(['webhooks', 'delete', id, '--json']);
  assert.deepEqual(JSON.parse(deleted.stdout), { id, deleted: true });
});

it('without a format it is standard, tells of what needs a person, and prints its signing secret once', async () => {
  const created = await tool.admin(['webhooks', 'create', 'plain'], { input: `${receiver.url}\n` });
  assert.match(created.stdout, /^whsec_\S+\n$/);
  const [record] = JSON.parse((await tool.admin(['webhooks', 'list', '--json'])).stdout);
  assert.equal(record.format, 'standard');
  assert.ok(record.events.includes('approval.requested') && !record.events.includes('resource.created'));
});

it('a wrong format, event or URL is refused in one line that says what is right', async () => {
  const refused = async (...args: string[]) =>
    (await tool.admin(['webhooks', 'create', 'x', ...args], { input: 'no' })).stderr;
  assert.match(await refused('--format', 'pager'), /--format must be one of: standard, slack, teams/);
  assert.match(await refused('--event', 'resource.exploded'), /--event must be of these: resource\.created/);
  assert.match(await refused(), /url must be an absolute URL/i);
});
