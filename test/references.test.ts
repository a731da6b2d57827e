/** Templates: what references stand for at every door, when they can't be resolved, and who may write them. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written so
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatTemplate, type NamedReference, type TemplatePart } from '../src/contract/templates.ts';
import type { Running } from '../src/service/serve.ts';
import { fixedRandom } from './fixed-random.ts';
import { type Answer, callService, engines, eventually, type Service, startService } from './harness.ts';
import { modernCall } from './mcp-world.ts';
import { Browser, password } from './people.ts';
import { startUsesWorld } from './uses-world.ts';

for (const engine of engines) {
  describe(`templates on ${engine}`, () => {
    let service: Service;
    let app: string;
    let shared: string;
    let key: string;
    let replica: Running | undefined;
    let people = 0;

    before(async () => {
      service = await startService({ engine });
      [app, shared] = [
        (await make('vaults', { name: 'app' })).id,
        (await make('vaults', { name: 'shared/eu' })).id,
      ];
      key = (await make('access-keys', { vault_id: app, name: 'k' })).token;
      if (engine === 'postgres') replica = await service.replica();
    });
    after(async () => {
      await replica?.stop();
      await service.stop();
    });

    const make = async (kind: string, body: unknown, by?: string) => {
      const answer = await service.call('POST', `/v1/${kind}`, body, by);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const value = (name: string, text: string, vault_id = app, more = {}) =>
      make('secrets', { vault_id, name, value: text, ...more });
    const template = (name: string, text: string, vault_id = app) =>
      value(name, text, vault_id, { kind: 'template' });
    const attempt = (name: string, text: string, by?: string, vault_id = app) =>
      service.call('POST', '/v1/secrets', { vault_id, name, value: text, kind: 'template' }, by);
    const put = (id: string, body: object, by?: string) => service.call('PUT', `/v1/secrets/${id}`, body, by);
    const let_ = (from: string, ids: readonly string[], by?: string) =>
      service.call('PUT', `/v1/vaults/${from}`, { referable_from: ids }, by);
    const read = (query = '', token = key) =>
      service.call('GET', `/api/v1/vaults/self${query}`, undefined, token);
    const one = (name: string, token = key) => read(`?name=${encodeURIComponent(name)}`, token);
    const map = async () => (await read('?format=map')).body as Record<string, string>;
    const reveal = (id: string, body?: object, by?: string) =>
      service.call('POST', `/v1/secrets/${id}/reveal`, body, by);
    /** Somebody with these roles, by their session, who proved who they are just now. */
    async function person(grants: readonly object[]) {
      const email = `p${++people}@example.org`;
      const { token } = await make('members', { email, role: 'none', grants });
      const browser = new Browser(service.url);
      const joined = await browser.post('/auth/invitation/accept', { token, password });
      assert.equal(joined.status, 200, joined.text);
      return browser;
    }
    const reason = ({ body }: Answer) => body.error?.details.reason as string;

    it('a reference stands for the value at every door, and a value with ${ stays as it is', async () => {
      await value('DB_USER', 'ann');
      await value('DB_PASSWORD', 'p${DB_USER}$&$1$$');
      const { id, kind, version } = await template(
        'DATABASE_URL',
        'postgres://${DB_USER}:${DB_PASSWORD}@db/${DB_USER}?$${x}',
      );
      assert.deepEqual([kind, version], ['template', 1]);
      const resolved = 'postgres://ann:p${DB_USER}$&$1$$@db/ann?${x}';
      assert.equal((await one('DATABASE_URL')).body.value, resolved);
      assert.equal((await read(`?resource=${id}`)).body.value, resolved);
      const { body } = await read();
      assert.equal(
        body.secrets.find((secret: { name: string }) => secret.name === 'DATABASE_URL').value,
        resolved,
      );
      assert.equal(body.unresolved, undefined);
      assert.equal((await map()).DATABASE_URL, resolved);
      assert.equal((await reveal(id)).body.value, resolved);
      assert.equal(
        (await reveal(id, { resolve: false })).body.value,
        'postgres://${DB_USER}:${DB_PASSWORD}@db/${DB_USER}?$${x}',
      );
      const many = await service.call('POST', '/v1/secrets/reveal', { secret_ids: [id] });
      assert.equal(many.body.data[0].value, resolved);
      const tool = await modernCall(
        service.url,
        'secrets.get',
        { name: 'DATABASE_URL', includeValue: true },
        { key },
      );
      assert.equal(tool.body.result.structuredContent.value, resolved);
      const listed = await modernCall(service.url, 'secrets.list', { namesOnly: false }, { key });
      assert.ok(listed.text.includes('postgres://ann:p'));
      const dialect = await service.call('GET', '/vault/v1/secret/data/DATABASE_URL', undefined, null, {
        'x-vault-token': key,
      });
      assert.equal(dialect.body.data.data.value, resolved, dialect.text);
      const compared = { vault_id: app, items: [{ name: 'DATABASE_URL', value: resolved }] };
      assert.equal((await service.call('POST', '/v1/secrets/compare', compared)).body.results[0].same, true);
      assert.deepEqual((await read('?secrets=names')).body.secrets.length, 3);
    });

    it('what changes in a target is in the next answer: value, name, state, dates, deletion; the text has the new name', async () => {
      const target = await value('TARGET', 'one');
      const { id } = await template('NEST', '<${TARGET}>');
      const outer = await template('OUTER', '[${NEST}]');
      const tag = (await read()).headers.get('etag');
      const seen = async () => [(await one('OUTER')).status, (await map()).OUTER];
      assert.deepEqual(await seen(), [200, '[<one>]']);
      await template('ENV_ONLY', '${TARGET}');
      const { token } = await make('access-keys', { vault_id: app, name: 'narrow', names: ['ENV_ONLY'] });
      assert.equal(
        (await read('?format=env', token)).text,
        'ENV_ONLY=one\n',
        'by a key that sees only the template',
      );
      const narrow = (await service.call('GET', `/v1/secrets/${target.id}/readers`)).body.data;
      assert.ok(narrow.some((reader: { name: string }) => reader.name === 'narrow'));
      await put(target.id, { value: 'two' });
      assert.deepEqual(await seen(), [200, '[<two>]']);
      assert.notEqual((await read()).headers.get('etag'), tag);
      await put(target.id, { name: 'RE NAMED}%' });
      assert.deepEqual(await seen(), [200, '[<two>]']);
      assert.equal((await reveal(id, { resolve: false })).body.value, '<${RE NAMED%7D%25}>');
      await put(target.id, { enabled: false });
      assert.deepEqual(await seen(), [409, undefined]);
      const { body, headers } = await read();
      assert.deepEqual(body.unresolved.toSorted(), ['ENV_ONLY', 'NEST', 'OUTER']);
      assert.ok(!JSON.stringify(body.secrets).includes('OUTER'));
      assert.equal(
        (await read('?format=map')).headers.get('strongroom-unresolved')?.split(',').toSorted().join(),
        'ENV_ONLY,NEST,OUTER',
      );
      assert.equal(headers.get('strongroom-unresolved')?.length, 'ENV_ONLY,NEST,OUTER'.length);
      const dialect = (path: string) =>
        service.call('GET', `/vault/v1/secret/data/${path}`, undefined, null, { 'x-vault-token': key });
      const { data: all, warnings } = (await dialect('_all')).body;
      assert.equal(all.data.OUTER, undefined);
      assert.deepEqual(
        warnings
          .join()
          .match(/ENV_ONLY|NEST|OUTER/g)
          .toSorted(),
        ['ENV_ONLY', 'NEST', 'OUTER'],
      );
      assert.deepEqual((await one('OUTER')).body, {
        message: 'A reference in this secret can’t be resolved',
      });
      assert.equal((await reveal(outer.id)).status, 400);
      assert.equal((await reveal(outer.id, { resolve: false })).body.value, '[${NEST}]');
      await put(target.id, {
        enabled: true,
        expiration_date: new Date(service.clock.now() + 60_000).toISOString(),
      });
      assert.deepEqual(await seen(), [200, '[<two>]']);
      assert.equal((await dialect('_all')).body.warnings, null);
      service.clock.pass(61_000);
      assert.deepEqual(await seen(), [409, undefined], 'by time alone');
      await put(target.id, { expiration_date: null });
      assert.deepEqual(await seen(), [200, '[<two>]']);
      await service.call('DELETE', `/v1/secrets/${target.id}`);
      assert.deepEqual(await seen(), [409, undefined]);
      await service.call('POST', `/v1/resources/${target.id}/restore`);
      assert.deepEqual(await seen(), [200, '[<two>]']);
      await service.call('DELETE', `/v1/secrets/${target.id}?purge=true`);
      assert.deepEqual(await seen(), [409, undefined]);
      assert.equal((await reveal(id, { resolve: false })).body.value, '<${}>');
      const { id: env } = (await service.call('GET', `/v1/secrets?q=ENV_ONLY`)).body.data[0];
      for (const one of [outer.id, id, env]) await service.call('DELETE', `/v1/secrets/${one}?purge=true`);
      assert.equal((await read()).body.unresolved, undefined);
    });

    it('made of any pieces, what is read is its text with the values in place, and never a reference', async () => {
      const values: Record<string, string> = {
        FUZZ: '${SECOND} $& $1 $$',
        'a}b%': '}',
        'vault:x/y': '$',
        '50%41': '{',
        'é 😀': '$${',
      };
      for (const [name, text] of Object.entries(values)) await value(name, text);
      const names = Object.keys(values);
      const random = fixedRandom('references');
      const pieces = [
        '$',
        '{',
        '}',
        '${',
        '$$',
        '%25',
        '%',
        '\n',
        'vault:',
        ...names.map(name => ({ vault: null, name })),
      ];
      const written = Array.from({ length: 100 }, () => {
        const drawn = [...random(1 + (random(1)[0]! % 9))].map(byte => pieces[byte % pieces.length]!);
        // The dollar sign before a reference would escape it.
        const parts = drawn.map((part, at) =>
          endsInDollar(part) && typeof drawn[at + 1] === 'object' ? '-' : part,
        );
        return {
          // Neighbouring texts are one text: what they form together is plain as well.
          text: formatTemplate(joined(parts)),
          read: parts.map(part => (typeof part === 'string' ? part : values[part.name]!)).join(''),
        };
      });
      for (let at = 0; at < written.length; at += 100) {
        const items = written.slice(at, at + 100).map(({ text }, index) => ({
          vault_id: app,
          name: `fuzz ${at + index}`,
          kind: 'template',
          value: text,
        }));
        const { body } = await service.call('POST', '/v1/secrets/bulk', { items });
        for (const [index, { status }] of body.results.entries())
          assert.equal(status, 200, `${items[index]!.value}: ${JSON.stringify(body.results[index])}`);
      }
      const all = await map();
      for (const [at, { text, read: expected }] of written.entries())
        assert.equal(all[`fuzz ${at}`], expected, text);
    });

    it('a circle, a chain of more than 8, a missing secret and too large a result are refused when written', async () => {
      const ids: string[] = [(await value('C0', 'end')).id];
      for (let at = 1; at <= 8; at++) ids.push((await template(`C${at}`, `\${C${at - 1}}`)).id);
      assert.equal((await one('C8')).body.value, 'end');
      const ninth = await attempt('C9', '${C8}');
      assert.deepEqual(
        [ninth.status, reason(ninth)],
        [400, 'would be part of a chain of more than 8 references'],
      );
      await value('BELOW', 'x');
      const longer = await put(ids[0]!, { kind: 'template', value: '${BELOW}' });
      assert.deepEqual(
        [longer.status, reason(longer)],
        [400, 'would be part of a chain of more than 8 references'],
      );
      const circle = await put(ids[0]!, { kind: 'template', value: '${C3}' });
      assert.deepEqual([circle.status, reason(circle)], [400, 'would refer to itself']);
      const itself = await put(ids[3]!, { value: '${C3}' });
      assert.deepEqual([itself.status, reason(itself)], [400, 'would refer to itself']);
      assert.equal((await attempt('MISSING', '${NOWHERE}')).status, 400);
      assert.equal((await attempt('BROKEN', '${NOWHERE')).status, 400);
      await value('HALF', 'x'.repeat(40 * 1024));
      assert.equal((await attempt('TWICE', '${HALF}${HALF}')).status, 400);
      const disabled = await value('OFF', 'x', app, { enabled: false });
      assert.equal((await attempt('DIM', '${OFF}')).status, 400);
      for (const id of [...ids.toReversed(), disabled.id])
        await service.call('DELETE', `/v1/secrets/${id}?purge=true`);
    });

    it('a template depends on at most 100 secrets', async () => {
      const wide = (await make('vaults', { name: 'wide' })).id;
      const bulk = async (items: readonly object[]) => {
        const { body } = await service.call('POST', '/v1/secrets/bulk', {
          items: items.map(item => ({ vault_id: wide, ...item })),
        });
        assert.ok(body.results.every(({ status }: { status: number }) => status === 200));
      };
      const names = Array.from({ length: 97 }, (_, at) => `V${at}`);
      await bulk(names.map(name => ({ name, value: 'v' })));
      const group = (from: number, to: number) => names.slice(from, to).map(name => `\${${name}}`);
      const groups = [group(0, 32), group(32, 64), group(64, 96), group(64, 97)].map((of, at) => ({
        name: `T${at}`,
        kind: 'template',
        value: of.slice(0, 32).join(''),
      }));
      await bulk(groups);
      const three = '${T0}${T1}${T2}';
      assert.equal((await attempt('MOST', `${three}\${T3}`, undefined, wide)).status, 200);
      const tooMany = await attempt('MORE', `${three}\${T3}\${V96}`, undefined, wide);
      assert.deepEqual([tooMany.status, reason(tooMany)], [400, 'must not depend on more than 100 secrets']);
    });

    it('a reveal of many has one entry for each secret, however many templates contain it', async () => {
      const many = (await make('vaults', { name: 'many' })).id;
      const target = await value('PART', 'p', many);
      await template('MIDDLE', '<${PART}>', many);
      const ids: string[] = [];
      for (let at = 0; at < 5; at++) ids.push((await template(`OUT${at}`, '${MIDDLE}${PART}', many)).id);
      const entries = async () =>
        (await service.call('GET', '/v1/audit-logs?action=secret.revealed&limit=100')).body.data;
      const before = (await entries()).length;
      const { body } = await service.call('POST', '/v1/secrets/reveal', { secret_ids: ids });
      assert.deepEqual(
        new Set(body.data.map((secret: { value: string }) => secret.value)),
        new Set(['<p>p']),
      );
      const found = await entries();
      assert.equal(found.length - before, ids.length + 2, JSON.stringify(found));
      const { details } = found.find(({ subject }: { subject: { id: string } }) => subject.id === target.id);
      assert.deepEqual(details.via.map(({ id }: { id: string }) => id).sort(), ids.toSorted());
    });

    it('a template is enabled and disabled like any secret, and lists count it so', async () => {
      const vault_id = (await make('vaults', { name: 'states' })).id;
      const { id: plain } = await value('PLAIN', 'p', vault_id);
      const { id, enabled } = await template('SWITCHED', '${PLAIN}', vault_id);
      assert.equal(enabled, true);
      const listed = async (state: string) => {
        const { body } = await service.call('GET', `/v1/secrets?vault_id=${vault_id}${state}`);
        assert.equal(body.pagination.total, body.data.length, state);
        return body.data.map((secret: { id: string }) => secret.id);
      };
      assert.deepEqual([await listed('&state=active'), await listed('&state=disabled')], [[id, plain], []]);
      for (const isEnabled of [false, true, false]) {
        assert.equal((await put(id, { enabled: isEnabled })).body.enabled, isEnabled);
        assert.deepEqual(await listed('&state=active'), isEnabled ? [id, plain] : [plain]);
        assert.deepEqual(await listed('&state=disabled'), isEnabled ? [] : [id]);
        assert.deepEqual(await listed('&sort=state'), isEnabled ? [id, plain] : [plain, id]);
      }
      assert.equal((await put(id, { name: 'RENAMED' })).body.enabled, false, 'it stays so');
      assert.equal((await put(id, { kind: 'value', value: 'v' })).body.enabled, false, 'as a value too');
      assert.equal((await put(id, { enabled: true })).body.enabled, true);
      assert.equal((await put(id, { kind: 'template', value: '${PLAIN}' })).body.enabled, true);
      assert.deepEqual(await listed('&state=active'), [id, plain]);
    });

    it('a kind changes with a value, a version keeps its kind, and a roll-back brings the references back', async () => {
      await value('SOURCE', 'deep');
      const { id } = await value('BOTH', 'plain ${SOURCE}');
      assert.equal((await one('BOTH')).body.value, 'plain ${SOURCE}');
      assert.equal((await put(id, { kind: 'template' })).status, 400);
      assert.equal((await put(id, { kind: 'template', value: 'now ${SOURCE}' })).body.kind, 'template');
      assert.equal((await one('BOTH')).body.value, 'now deep');
      assert.equal((await put(id, { value: 'then ${SOURCE}' })).body.kind, 'template', 'stays what it is');
      assert.equal((await put(id, { kind: 'value', value: 'as ${SOURCE}' })).body.kind, 'value');
      assert.equal((await one('BOTH')).body.value, 'as ${SOURCE}');
      const back = await service.call('POST', `/v1/secrets/${id}/rollback`, { version: 2 });
      assert.deepEqual([back.body.kind, (await one('BOTH')).body.value], ['template', 'now deep'], back.text);
      assert.equal((await reveal(id, { version: 1 })).body.value, 'plain ${SOURCE}');
      const shown = (await service.call('GET', `/v1/secrets/${id}`)).body;
      assert.equal((await put(id, shown)).status, 200, 'what was shown may be sent');
    });

    it('many at once may refer to each other, in any order', async () => {
      const items = [
        { vault_id: app, name: 'M1', kind: 'template', value: '${M2}' },
        { vault_id: app, name: 'M2', kind: 'template', value: '${M3}' },
        { vault_id: app, name: 'M3', value: 'three' },
        { vault_id: app, name: 'M4', kind: 'template', value: '${M5}' },
      ];
      const { body } = await service.call('POST', '/v1/secrets/bulk', { items });
      assert.deepEqual(
        body.results.map(({ status }: { status: number }) => status),
        [200, 200, 200, 400],
      );
      assert.equal((await one('M1')).body.value, 'three');
    });

    it('many at once, written without their kind, form no circle', async () => {
      await value('ROOT', 'root');
      const first = await template('FIRST', '${ROOT}');
      const second = await template('SECOND', '${ROOT}');
      const items = [
        { id: first.id, value: '${SECOND}' },
        { id: second.id, value: '${FIRST}' },
      ];
      const { body } = await service.call('POST', '/v1/secrets/bulk', { items });
      const statuses = body.results.map(({ status }: { status: number }) => status);
      assert.deepEqual(statuses.sort(), [200, 400]);
      assert.deepEqual([(await one('FIRST')).body.value, (await one('SECOND')).body.value], ['root', 'root']);
    });

    it('many at once may change what others of them refer to, and form no circle', async () => {
      await value('BASE', 'base');
      const lower = await template('LOWER', '${BASE}');
      const upper = await template('UPPER', '${LOWER}');
      const kind = 'template';
      const bulk = async (items: readonly object[]): Promise<number[]> => {
        const { body } = await service.call('POST', '/v1/secrets/bulk', { items });
        return body.results.map(({ status }: { status: number }) => status);
      };
      const changed = { id: lower.id, kind, value: 'new ${BASE}' };
      const above = { vault_id: app, name: 'ABOVE', kind, value: '${UPPER}!' };
      assert.deepEqual(await bulk([above, changed]), [200, 200]);
      assert.equal((await one('ABOVE')).body.value, 'new base!');
      const crossed = [
        { id: lower.id, kind, value: '${UPPER}' },
        { id: upper.id, kind, value: '${BASE}' },
      ];
      assert.deepEqual(await bulk(crossed), [200, 200], 'no circle once both are written');
      assert.equal((await one('ABOVE')).body.value, 'base!');
      const circle = [
        { id: lower.id, kind, value: '${BASE}' },
        { id: upper.id, kind, value: '${LOWER}' },
      ];
      assert.deepEqual(await bulk(circle), [200, 200]);
      assert.equal((await put(upper.id, { value: '${BASE}' })).status, 200);
      const both = [lower, upper].map(({ id }, at) => ({
        id,
        kind,
        value: at === 0 ? '${UPPER}' : '${LOWER}',
      }));
      assert.deepEqual((await bulk(both)).sort(), [200, 400]);
    });

    it('across vaults needs a grant, which is no oracle and ends at once', async () => {
      const password = await value('PASS', 'p1', shared);
      const text = 'u:${vault:shared%2Feu/PASS}';
      const ungranted = await attempt('CROSS', text);
      assert.deepEqual(
        [ungranted.status, reason(ungranted)],
        [400, 'reference 1 is to a vault that doesn’t let this vault refer to it'],
      );
      const granted = await let_(shared, [app]);
      assert.deepEqual([granted.status, granted.body.referable_from], [200, [app]], granted.text);
      const { token: editor, id: editorId } = await make('api-keys', {
        name: 'e',
        role: 'editor',
        vault_ids: [app],
      });
      const unknown = await attempt('CROSS', 'u:${vault:shared%2Feu/NOBODY}', editor);
      for (const refused of [
        await attempt('CROSS', text, editor),
        await attempt('CROSS', 'u:${vault:elsewhere/PASS}', editor),
        await attempt('CROSS', 'u:${NOBODY}', editor),
      ])
        assert.deepEqual([refused.status, refused.body.error], [400, unknown.body.error]);
      const first = await attempt('CROSS', `${text}\${NOBODY}`, editor);
      assert.deepEqual(first.body.error, unknown.body.error, 'the one that exists is not skipped');
      const { id } = await template('CROSS', text);
      assert.equal((await one('CROSS')).body.value, 'u:p1');
      assert.equal((await map()).CROSS, 'u:p1');
      assert.equal((await reveal(id, {}, editor)).body.value, 'u:p1', 'the grant is to the vault');
      assert.equal((await reveal(id, { resolve: false }, editor)).body.value, 'u:${}', 'and shows no name');
      const { token: nameless } = await make('api-keys', {
        name: 'n',
        role: 'editor',
        scopes: ['secrets:reveal', 'vaults:read'],
      });
      assert.equal((await reveal(id, {}, nameless)).body.value, 'u:p1');
      assert.equal((await reveal(id, { resolve: false }, nameless)).body.value, 'u:${}', 'no secrets:read');
      assert.equal((await put(id, { value: 'v:${}' }, editor)).status, 400);
      await put(password.id, { value: 'p2' });
      assert.deepEqual([(await one('CROSS')).body.value, (await map()).CROSS], ['u:p2', 'u:p2']);
      await service.call('PUT', `/v1/vaults/${shared}`, { name: 'renamed' });
      assert.equal((await reveal(id, { resolve: false })).body.value, 'u:${vault:renamed/PASS}');
      assert.equal((await let_(shared, [])).status, 200);
      assert.deepEqual([(await one('CROSS')).status, (await map()).CROSS], [409, undefined]);
      await let_(shared, [app]);
      assert.equal((await map()).CROSS, 'u:p2');
      await service.call('DELETE', `/v1/vaults/${shared}`);
      assert.deepEqual(
        [(await one('CROSS')).status, (await map()).CROSS],
        [409, undefined],
        'a deleted vault',
      );
      await service.call('POST', `/v1/resources/${shared}/restore`);
      assert.equal((await map()).CROSS, 'u:p2');
      await service.call('DELETE', `/v1/api-keys/${editorId}`);
    });

    it('letting a vault refer to another requires the permission to reveal there, and to see it', async () => {
      const { token: admin } = await make('api-keys', {
        name: 'admin',
        role: 'admin',
        scopes: ['vaults:read', 'vaults:write'],
      });
      await let_(shared, []);
      assert.equal((await let_(shared, [app], admin)).status, 403);
      assert.equal((await let_(shared, [shared])).status, 400);
      assert.equal((await let_(shared, ['01999999-9999-7999-8999-999999999999'])).status, 404);
      await let_(shared, [app]);
      assert.equal((await let_(shared, [], admin)).status, 200, 'taking it back requires nothing more');
      await let_(shared, [app]);
    });

    it('a reference to another vault is written only by someone who may reveal there without end', async () => {
      const [from, to] = [
        (await make('vaults', { name: 'from' })).id,
        (await make('vaults', { name: 'lent' })).id,
      ];
      await let_(to, [from]);
      await value('LENT', 'l1', to);
      await value('NEAR_BY', 'n', from);
      const until = new Date(service.clock.now() + 3_600_000).toISOString();
      const roles = [{ vault_id: from, role: 'editor' }];
      const endsThere = await person([...roles, { vault_id: to, role: 'reader', until }]);
      const endsHere = await person([
        { vault_id: from, role: 'editor', until },
        { vault_id: to, role: 'reader' },
      ]);
      const lasting = await person([...roles, { vault_id: to, role: 'reader' }]);
      const body = (name: string, text = '${vault:lent/LENT}') => ({
        vault_id: from,
        name,
        kind: 'template',
        value: text,
      });
      for (const who of [endsThere, endsHere]) {
        const refused = await who.post('/v1/secrets', body('BORROWED'));
        assert.equal(refused.status, 403, refused.text);
        assert.match(refused.body.error.message, /ends before that/);
        assert.equal(
          (await who.post('/v1/secrets', body('OWN', '${NEAR_BY}'))).status,
          200,
          'of its own vault',
        );
        const { data } = (await who.get(`/v1/secrets?vault_id=${from}&q=OWN`)).body;
        assert.equal((await who.call('PUT', `/v1/secrets/${data[0].id}`, body('OWN'))).status, 403);
        const bulk = await who.post('/v1/secrets/bulk', { items: [body('BULK')] });
        assert.equal(bulk.body.results[0].status, 403, bulk.text);
        await service.call('DELETE', `/v1/secrets/${data[0].id}?purge=true`);
      }
      const { body: made } = await lasting.post('/v1/secrets', body('BORROWED'));
      assert.equal((await reveal(made.id)).body.value, 'l1');
      const renamed = await endsThere.call('PUT', `/v1/secrets/${made.id}`, { name: 'RENAMED' });
      assert.equal(renamed.status, 200, 'which grants nothing new');
      const { token } = await make('api-keys', { name: 'over soon', role: 'owner', expiration_date: until });
      assert.equal((await attempt('BY_KEY', '${vault:lent/LENT}', token, from)).status, 403);
      assert.equal((await attempt('BY_KEY', '${NEAR_BY}', token, from)).status, 200);
    });

    it('a list with a vault that the caller may not see answers the same whether or not it contains that one', async () => {
      const [own, hidden] = [
        (await make('vaults', { name: 'own list' })).id,
        (await make('vaults', { name: 'hidden' })).id,
      ];
      const { token } = await make('api-keys', { name: 'sees own', role: 'owner', vault_ids: [own] });
      const before = await let_(own, [hidden], token);
      await let_(own, [hidden]);
      const contained = await let_(own, [hidden], token);
      assert.deepEqual([before.status, before.body.error], [404, contained.body.error], contained.text);
      assert.equal((await let_(own, [], token)).status, 200, 'what is shown may be sent');
      assert.deepEqual((await service.call('GET', `/v1/vaults/${own}`)).body.referable_from, [hidden]);
    });

    it('who may write and not reveal can’t enable what a template contains', async () => {
      const target = await value('RISKY', 'hidden value', app);
      await template('AROUND', '${RISKY}', app);
      await put(target.id, { enabled: false });
      const { token: writer } = await make('api-keys', {
        name: 'w',
        role: 'editor',
        scopes: ['secrets:read', 'secrets:write'],
      });
      const other = (await make('vaults', { name: 'no keys' })).id;
      await let_(other, [app]);
      const alone = await value('ALONE', 'x', other);
      await template('ROUND', '${vault:no keys/ALONE}');
      await put(alone.id, { enabled: false });
      assert.equal((await put(alone.id, { enabled: true }, writer)).status, 403);
      assert.equal(
        (await put(alone.id, { value: 'own', enabled: true }, writer)).status,
        200,
        'a value of their own',
      );
      assert.equal((await attempt('BY_WRITER', '${RISKY}', writer)).status, 400);
    });

    it('the log of the target’s vault says who read it, and through which template', async () => {
      const target = await value('LOGGED', 'l', shared);
      const { id } = await template('LOGGING', '${vault:renamed/LOGGED}');
      await one('LOGGING');
      await map();
      await reveal(id);
      const { body } = await service.call('GET', `/v1/secrets/${target.id}/readers`);
      const [person, program] = [...body.data].sort((a: { kind: string }, b: { kind: string }) =>
        a.kind < b.kind ? 1 : -1,
      );
      assert.deepEqual(
        [program.kind, program.name, program.reads, program.via],
        ['access-key', 'k', 2, [{ id, name: 'LOGGING' }]],
        JSON.stringify(body),
      );
      assert.ok(person.reads === 1);
      const { token: there } = await make('api-keys', { name: 't', role: 'auditor', vault_ids: [shared] });
      const seen = await service.call('GET', `/v1/secrets/${target.id}/readers`, undefined, there);
      const hidden = seen.body.data.find(({ id: key }: { id: string }) => key === program.id);
      assert.deepEqual(
        [hidden.name, hidden.via],
        ['', []],
        'a key and a template of a vault that is not theirs',
      );
      const logs = await service.call('GET', `/v1/request-logs?vault_id=${shared}&limit=1`);
      assert.deepEqual(logs.body.data[0].requested, 'secrets=referred');
      assert.ok(logs.body.data[0].via.some((one: { secret_id: string }) => one.secret_id === target.id));
    });

    it('a copy of a template refers to the secrets of the vault it is copied to', async () => {
      const staging = (await make('vaults', { name: 'staging' })).id;
      await value('HOST', 'here');
      const { id } = await template('AT', 'at ${HOST}');
      const copy = () => service.call('POST', '/v1/secrets/copy', { secret_ids: [id], vault_id: staging });
      assert.equal((await copy()).body.results[0].status, 400, 'there is none yet');
      await value('HOST', 'there', staging);
      const { secret } = (await copy()).body.results[0];
      assert.deepEqual([secret.kind, (await reveal(secret.id)).body.value], ['template', 'at there']);
    });

    it('parallel writes never form a circle', async () => {
      for (let round = 0; round < 5; round++) {
        const names = ['X', 'Y', 'Z'].map(letter => `${letter}${round}`);
        const made = await Promise.all(names.map(name => value(name, name)));
        const answers = await Promise.all(
          made.map(({ id }, at) => put(id, { kind: 'template', value: `\${${names[(at + 1) % 3]}}` })),
        );
        const statuses = answers.map(({ status }) => status).sort();
        assert.deepEqual(statuses, [200, 200, 400], JSON.stringify(answers.map(({ body }) => body)));
        const values = await map();
        assert.equal(new Set(names.map(name => values[name])).size, 1, 'all lead to the one that is left');
      }
    });

    it('another replica forgets its answers with a change in the other vault', {
      skip: engine === 'sqlite',
    }, async () => {
      const target = await value('FAR', 'f0', shared);
      await template('NEAR', '${vault:renamed/FAR}');
      const there = async () =>
        (await callService(replica!.url, 'GET', '/api/v1/vaults/self?format=map', undefined, key)).body.NEAR;
      assert.equal(await there(), 'f0');
      for (let at = 1; at < 4; at++) {
        await put(target.id, { value: `f${at}` });
        await eventually('the replica has it', async () => (await there()) === `f${at}`);
      }
      await let_(shared, []);
      await eventually('the replica refuses it', async () => (await there()) === undefined);
      await let_(shared, [app]);
    });

    it('an answer that was kept over a restart is never one with references', async () => {
      const target = await value('RESTARTED', 'before', shared);
      await template('KEPT', '${vault:renamed/RESTARTED}');
      assert.equal((await map()).KEPT, 'before');
      await sleep(1_500); // Answers are stored a second later.
      await put(target.id, { value: 'after' });
      await service.restart();
      assert.equal((await map()).KEPT, 'after');
    });

    it('who rolls back to a template must be allowed to reveal what it refers to', async () => {
      await value('BEHIND', 'b');
      const { id } = await template('ROLLED', '${BEHIND}');
      await put(id, { kind: 'value', value: 'plain' });
      const { token } = await make('api-keys', {
        name: 'rolls',
        role: 'editor',
        scopes: ['secrets:read', 'secrets:write'],
      });
      const refused = await service.call('POST', `/v1/secrets/${id}/rollback`, { version: 1 }, token);
      assert.deepEqual(
        [refused.status, reason(refused)],
        [400, 'reference 1 is not to a secret that you may reveal'],
      );
    });
  });
}

describe('a template that is used', () => {
  it('a use scrubs each value that it contains, and writes what it stores as a plain value', async t => {
    const world = await startUsesWorld('sqlite');
    t.after(() => world.stop());
    const { service, upstream, vaultId: vault_id } = world;
    const part = 'Zk3vQ9xWm2LpT7sB';
    const add = async (body: object) =>
      (await service.call('POST', '/v1/secrets', { vault_id, ...body })).body.id as string;
    await add({ name: 'PART', value: part });
    const secret_id = await add({ name: 'WHOLE', kind: 'template', value: 'user-of-it:${PART}' });
    await world.rule({ secret_id });
    const url = `${upstream.url}/own/x`;
    upstream.answer = (_request, _body, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end(`it has ${part} inside`);
    const { status, body, text } = await world.use({ secret: 'WHOLE', url, method: 'GET' });
    assert.equal(status, 200, text);
    assert.equal(upstream.requests.at(-1)!.headers.authorization, `Bearer user-of-it:${part}`);
    assert.ok(!text.includes(part), text);
    assert.ok(body.body === null || !body.body.includes(part.slice(0, 12)));
    await add({ name: 'SHORT', value: 'Zk3vQ9' });
    const tooShort = await add({ name: 'LONGER', kind: 'template', value: 'user-of-it-too:${SHORT}' });
    await world.rule({ secret_id: tooShort });
    const refused = await world.use({ secret: 'LONGER', url, method: 'GET' });
    assert.match(refused.text, /too short/, 'a part that could not be recognized');
    assert.equal(refused.status, 400);
    const stored = await add({ name: 'STORED', kind: 'template', value: '${PART}' });
    await world.rule({ secret_id, response: 'store', store: { secret_id: stored, pointer: '/token' } });
    upstream.answer = (_request, _body, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"token":"${PART}-and-more-of-it"}');
    const rules = (await service.call('GET', '/v1/use-rules')).body.data;
    const rule = rules.find((one: { store: unknown }) => one.store !== null).id;
    const minted = await world.use({ secret: 'WHOLE', url, method: 'POST', rule });
    assert.equal(minted.status, 200, minted.text);
    const shown = await service.call('POST', `/v1/secrets/${stored}/reveal`);
    assert.deepEqual([shown.body.kind, shown.body.value], ['value', '${PART}-and-more-of-it'], minted.text);
  });
});

const endsInDollar = (part: TemplatePart<NamedReference>) => typeof part === 'string' && part.endsWith('$');

/** Parts of which no two texts are neighbours. */
function joined(parts: readonly TemplatePart<NamedReference>[]): TemplatePart<NamedReference>[] {
  const done: TemplatePart<NamedReference>[] = [];
  for (const part of parts) {
    const last = done.at(-1);
    if (typeof part === 'string' && typeof last === 'string') done[done.length - 1] = last + part;
    else done.push(part);
  }
  return done;
}
