/** How much of a graph of references is read: each secret once in a request, and no more than a template may reach. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Failure } from '../src/contract/errors.ts';
import { revealedAlong } from '../src/domain/resources/opened-values.ts';
import { type OpenTemplate, referencesWith } from '../src/domain/resources/references.ts';
import type { StoredPart } from '../src/domain/resources/templates.ts';
import type { ResourceRow } from '../src/store/records/resources.ts';

const vaultId = 'vault';

/** A graph of templates by id; what is not in it is a value. */
function worldOf(graph: Readonly<Record<string, readonly string[]>>, turns?: { pause(): undefined }) {
  const read: string[] = [];
  const partsOf = (ids: readonly string[]): StoredPart[] => ids.map(id => [vaultId, id] as const);
  const row = (id: string) =>
    ({
      id,
      vault_id: vaultId,
      organization_id: 'org',
      type: id === vaultId ? 'vault' : 'secret',
      name: id,
      enabled: 1,
      activation_date: null,
      expiration_date: null,
      deleted_at: null,
      attributes: JSON.stringify(id in graph ? { kind: 'template', enabled: true } : {}),
      value: '',
      version: 1,
      revision: 1,
    }) as unknown as ResourceRow;
  const references = referencesWith(
    {
      now: () => 1,
      stamps: { resource: { believe: (found: unknown) => found } },
      store: {
        resources: {
          vault: async (id: string) => row(id),
          secretsWithValues: async (_: string, ids: readonly string[]) => {
            read.push(...ids);
            return ids.map(row);
          },
        },
      },
    } as never,
    {
      openVaultRow: async (found: ResourceRow) => ({ row: found, sealer: null }),
      openValue: () => 'v',
      openTemplate: ({ id }: ResourceRow) => partsOf(graph[id]!),
    } as never,
  );
  const template = (id: string): OpenTemplate => ({ id, vaultId, parts: partsOf(graph[id]!) });
  const reading = turns && { turns: { ...turns, resume: async () => {} } };
  return { read, template, shared: references.shared('org', reading) };
}

const asRow = (id: string) => ({ id, version: 1 }) as ResourceRow;

const list = (prefix: string, length: number) => Array.from({ length }, (_, at) => `${prefix}${at}`);

it('templates of one request read each secret once', async () => {
  const outer = list('outer', 100);
  const middle = list('middle', 15);
  const { read, template, shared } = worldOf({
    ...Object.fromEntries(outer.map(id => [id, middle])),
    ...Object.fromEntries(middle.map(id => [id, list(`${id}-`, 5)])),
  });
  const all = outer.map(template);
  await Promise.all(all.map(one => shared.load([one])));
  for (const one of all) assert.equal(shared.resolve(one)?.value, 'v'.repeat(75));
  assert.equal(read.length, 15 + 75);
});

it('a template that reaches more than 500 is not resolved, and is read no further', async () => {
  const graph: Record<string, readonly string[]> = { top: list('top-', 32), small: ['top-0-0-0-0'] };
  const add = (id: string, depth: number) => {
    graph[id] = list(`${id}-`, 32);
    if (depth > 1) for (const one of graph[id]!) add(one, depth - 1);
  };
  add('top', 3);
  const { read, template, shared } = worldOf(graph);
  const [top, small] = [template('top'), template('small')];
  await shared.load([top, small]);
  assert.ok(read.length <= 501, String(read.length));
  assert.deepEqual(
    [shared.isTooWide(top), shared.resolve(top), shared.resolve(small)?.value],
    [true, null, 'v'],
    'others are',
  );
});

it('a template that reaches more than 500 is not resolved, to the one', async () => {
  const graph = { most: list('a', 500), more: list('b', 501) };
  const { template, shared } = worldOf(graph);
  const [most, more] = [template('most'), template('more')];
  await shared.load([most, more]);
  assert.deepEqual([shared.isTooWide(most), shared.isTooWide(more)], [false, true]);
});

it('what a template reaches may be bounded further, to the one', async () => {
  const graph = { most: list('a', 10), more: list('b', 11) };
  const { template, shared } = worldOf(graph);
  const [most, more] = [template('most'), template('more')];
  await shared.load([most, more], 10);
  assert.deepEqual([shared.isTooWide(most), shared.isTooWide(more)], [false, true]);
});

it('a chain that another template made known only in part is followed further', async () => {
  const ids = list('c', 12);
  const graph = Object.fromEntries(ids.map((id, at) => [id, [ids[at + 1] ?? 'end']]));
  const { template, shared } = worldOf(graph);
  const [long, short] = [template('c0'), template('c8')];
  await shared.load([long]);
  assert.equal(shared.resolve(long), null);
  await shared.load([short]);
  assert.equal(shared.resolve(short)?.value, 'v');
});

it('others get their turn while a graph is read', async () => {
  let pauses = 0;
  const pause = () => void pauses++;
  const { template, shared } = worldOf({ top: list('t', 50) }, { pause: pause as () => undefined });
  await shared.load([template('top')]);
  assert.ok(pauses >= 50, String(pauses));
});

it('the templates of a request contain at most 1,000 other secrets, each with one entry', () => {
  const opened = (template: string, ids: readonly string[]) => ({
    targets: ids.map(id => ({ row: asRow(id), via: { id: template, name: template } })),
  });
  const most = list('s', 1_000);
  const found = revealedAlong([opened('one', most), opened('two', most)]);
  assert.equal(found.length, 1_000);
  assert.deepEqual(
    (found[0]!.details.via as { id: string }[]).map(({ id }) => id),
    ['one', 'two'],
  );
  assert.throws(() => revealedAlong([opened('one', most), opened('two', ['more'])]), Failure);
});
