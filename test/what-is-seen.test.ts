/**
 * What is seen: every narrowing of an access key, on every read surface, of each kind of resource in each state. What
 * may be told is worked out here from the contract, for each resource and surface; every answer must hold exactly that,
 * of that resource and of all others, when it is made and when it is kept ready.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { tools } from '../src/mcp/tools.ts';
import { type Answer, enginesInTurn, type Service, startService } from './harness.ts';
import { modernCall } from './mcp-world.ts';

const day = 86_400_000;
type Kind = 'secret' | 'key' | 'certificate';
type State = 'active' | 'disabled' | 'future' | 'expired' | 'deleted';
/** What can be told of a resource. */
type Fact = 'name' | 'tags' | 'value' | 'public' | 'private' | 'certificate';

interface Item {
  readonly kind: Kind;
  readonly state: State;
  readonly id: string;
  readonly name: string;
  readonly exportable: boolean;
  /** A piece of text for each fact, which stands in an answer that tells it and in no other. */
  readonly marks: Partial<Record<Fact, string>>;
}

interface Narrowing {
  readonly about: string;
  readonly body: object;
  /** After which time it ends, in milliseconds. */
  readonly endsIn?: number;
  readonly kinds?: readonly Kind[];
  readonly names?: RegExp;
  readonly namesOnly?: true;
  /** The status of every answer, where the key opens nothing. */
  readonly refused?: 401 | 429;
}

/** One way of asking, and what it tells of an item that the key sees. */
interface Surface {
  readonly about: string;
  ask(token: string): Promise<Answer>;
  tells(item: Item, namesOnly: boolean): readonly Fact[];
  /** The status, where it depends on one resource. */
  status?(narrowing: Narrowing): number;
  /** The status by which it says that the key is none, where that is no 401. */
  readonly unauthorized?: 403;
}

type Tells = (namesOnly: boolean) => readonly Fact[] | 403;

const whole: readonly Fact[] = ['name', 'value', 'tags'];
const labels: readonly Fact[] = ['name', 'tags'];
const flags = [undefined, false, true] as const;

for (const engine of enginesInTurn(import.meta.url)) {
  describe(`what an access key sees on ${engine}`, () => {
    let service: Service;
    let vaultId: string;
    /** Sees everything. */
    let reader: string;
    const items: Item[] = [];
    const publicTokens = new Map<string, string>();

    const make = async (path: string, body: object): Promise<Answer['body']> => {
      const answer = await service.call('POST', `/v1/${path}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const iso = (time: number) => new Date(time).toISOString();

    before(async () => {
      service = await startService({ engine });
      vaultId = (await make('vaults', { name: 'vault' })).id;
      reader = (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token;
      const dates = {
        active: {},
        disabled: {},
        deleted: {},
        future: { activation_date: iso(Date.now() + 20 * day) },
        expired: { expiration_date: iso(Date.now() + day) },
      } as const;
      for (const state of ['active', 'disabled', 'future', 'expired', 'deleted'] as const) {
        await makeSecret(state, dates[state]);
        if (state === 'disabled') continue; // Secrets alone can be.
        for (const exportable of [true, false]) await makeKey(state, exportable, dates[state]);
        if (state !== 'future') await makeCertificate(state);
      }
      for (const { kind, id } of items.filter(({ state }) => state === 'deleted')) {
        assert.equal((await service.call('DELETE', `/v1/${kind}s/${id}`)).status, 200);
      }
      service.clock.pass(2 * day);
    });
    after(() => service.stop());

    async function makeSecret(state: State, dates: object): Promise<void> {
      const name = `secret-${state}`;
      const marks = { name, value: `VALUE-OF-${state}`, tags: `TAG-OF-SECRET-${state}` };
      const body = { vault_id: vaultId, name, value: marks.value, tags: { t: marks.tags }, ...dates };
      const { id } = await make('secrets', { ...body, enabled: state !== 'disabled' });
      items.push({ kind: 'secret', state, id, name, exportable: true, marks });
    }

    async function makeKey(state: State, exportable: boolean, dates: object): Promise<void> {
      const name = `key-${state}-${exportable ? 'open' : 'held'}`;
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const lineOf = (pem: string | Buffer) => String(pem).split('\n')[1]!;
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
      const marks = {
        name,
        tags: `TAG-OF-KEY-${state}-${exportable}`,
        private: lineOf(pem),
        public: lineOf(publicKey.export({ type: 'spki', format: 'pem' })),
      };
      const body = { vault_id: vaultId, name, pem, exportable, tags: { t: marks.tags }, ...dates };
      const { id } = await make('keys', body);
      publicTokens.set(id, (await make('public-tokens', { key_id: id })).token);
      items.push({ kind: 'key', state, id, name, exportable, marks });
    }

    async function makeCertificate(state: State): Promise<void> {
      const name = `certificate-${state}`;
      const signing = items.find(({ kind, state: of }) => kind === 'key' && of === 'active')!;
      const tags = `TAG-OF-CERTIFICATE-${state}`;
      const { id } = await make('certificates', {
        vault_id: vaultId,
        name,
        key_id: signing.id,
        tags: { t: tags },
        self_signed: { subject: `CN=${state}`, days: state === 'expired' ? 1 : 30 },
      });
      const { text } = await service.call(
        'GET',
        `/api/v1/vaults/${vaultId}?resource=${id}`,
        undefined,
        reader,
      );
      const marks = { name, tags, certificate: text.split('\n')[2]! };
      items.push({ kind: 'certificate', state, id, name, exportable: true, marks });
    }

    const narrowings: readonly Narrowing[] = [
      { about: 'nothing', body: {} },
      { about: 'secrets', body: { kinds: ['secret'] }, kinds: ['secret'] },
      { about: 'keys', body: { kinds: ['key'] }, kinds: ['key'] },
      { about: 'certificates', body: { kinds: ['certificate'] }, kinds: ['certificate'] },
      { about: 'names', body: { names: ['*-active*', 'x'] }, names: /-active/ },
      { about: 'one name', body: { names: ['key-active-op*n'] }, names: /^key-active-open$/ },
      { about: 'names only', body: { names_only: true }, namesOnly: true },
      {
        about: 'names only of keys',
        body: { names_only: true, kinds: ['key'] },
        namesOnly: true,
        kinds: ['key'],
      },
      { about: 'its addresses', body: { cidrs: ['127.0.0.0/8', '::1/128'] } },
      { about: 'a later expiry', body: {}, endsIn: 90 * day },
      { about: 'many uses', body: { max_uses: 100_000 } },
      { about: 'a high rate', body: { rate_limit: 100_000 } },
      { about: 'other addresses', body: { cidrs: ['10.0.0.0/8'] }, refused: 401 },
      { about: 'an expiry that is past', body: {}, endsIn: day, refused: 401 },
      { about: 'uses that are used up', body: { max_uses: 1 }, refused: 401 },
      { about: 'a rate that is reached', body: { rate_limit: 1 }, refused: 429 },
    ];

    const sees = ({ kinds, names }: Narrowing, { kind, name }: Item) =>
      (kinds?.includes(kind) ?? true) && (names?.test(name) ?? true);

    /** In a list: what is active; of keys and certificates that are expired a stub, which has no more than an id. */
    const listed = (item: Item, kind: Kind, facts: readonly Fact[]) =>
      item.kind === kind && item.state === 'active' ? facts : [];
    const halfOf = ({ exportable }: Item): Fact => (exportable ? 'private' : 'public');

    function vaultLists(): Surface[] {
      const queries = [
        '',
        '?secrets=names',
        '?include=keys',
        '?include=certificates',
        '?include=keys,certificates',
        '?secrets=names&include=certificates,keys',
      ];
      return queries.map(query => ({
        about: `the vault ${query}`,
        ask: token => service.call('GET', `/api/v1/vaults/${vaultId}${query}`, undefined, token),
        tells: (item, namesOnly) => {
          const isNames = namesOnly || query.includes('secrets=names');
          if (item.kind === 'secret') return listed(item, 'secret', isNames ? ['name'] : whole);
          return query.includes(`${item.kind}s`) ? listed(item, item.kind, labels) : [];
        },
      }));
    }

    /** The one resource in question, and nothing of any other. */
    function directly(about: string, item: Item, ask: Surface['ask'], tells: Tells): Surface {
      const answer = (narrowing: Narrowing) => {
        if (!sees(narrowing, item)) return 404;
        if (item.state === 'active') return tells(narrowing.namesOnly ?? false);
        if (item.kind === 'secret') return 404;
        return { future: 403, expired: 410, deleted: 404, disabled: 404 }[item.state];
      };
      return {
        about: `${about} of ${item.name}`,
        ask,
        tells: (other, namesOnly) => {
          const told = other === item && item.state === 'active' ? tells(namesOnly) : [];
          return told === 403 ? [] : told;
        },
        status: narrowing => {
          const told = answer(narrowing);
          return typeof told === 'number' ? told : 200;
        },
      };
    }

    function vaultFetches(): Surface[] {
      return items.map(item =>
        directly(
          'the vault endpoint',
          item,
          token => service.call('GET', `/api/v1/vaults/${vaultId}?resource=${item.id}`, undefined, token),
          namesOnly => {
            if (namesOnly) return 403;
            if (item.kind === 'secret') return whole;
            return [item.kind === 'key' ? halfOf(item) : 'certificate'];
          },
        ),
      );
    }

    const tool = (name: string, args: object) => (token: string) =>
      modernCall(service.url, name, args, { key: token });

    function toolLists(): Surface[] {
      const secrets = (
        args: object,
        name: string,
        facts: (namesOnly: boolean) => readonly Fact[],
      ): Surface => ({
        about: `${name} ${JSON.stringify(args)}`,
        ask: tool(name, args),
        tells: (item, namesOnly) => listed(item, 'secret', facts(namesOnly)),
      });
      const others = (kind: Kind): Surface => ({
        about: `${kind}s.list`,
        ask: tool(`${kind}s.list`, {}),
        tells: item => listed(item, kind, labels),
      });
      const byTag = secrets({ tag: 't' }, 'secrets.search', namesOnly => (namesOnly ? [] : labels));
      return [
        ...flags.map(namesOnly =>
          secrets(namesOnly === undefined ? {} : { namesOnly }, 'secrets.list', only =>
            namesOnly === false && !only ? whole : ['name'],
          ),
        ),
        secrets({ name: 'SECRET' }, 'secrets.search', () => ['name']),
        { ...byTag, status: ({ namesOnly }) => (namesOnly ? 403 : 200) },
        others('key'),
        others('certificate'),
        { about: 'vault.describe', ask: tool('vault.describe', {}), tells: () => [] },
      ];
    }

    /** The tool, with the flag left out, off and on. */
    const flagged = (name: string, item: Item, which: object, flag: string, tells: (on: boolean) => Tells) =>
      flags.map(on => {
        const args = on === undefined ? which : { ...which, [flag]: on };
        return directly(`${name} ${flag} ${on}`, item, tool(name, args), tells(on ?? false));
      });

    function toolFetchesOf(item: Item): Surface[] {
      const { kind, id, name } = item;
      const unlessNamesOnly =
        (facts: readonly Fact[]): Tells =>
        namesOnly =>
          namesOnly ? 403 : facts;
      if (kind === 'certificate') {
        const get = tool('certificates.get', { id });
        return [directly('certificates.get', item, get, unlessNamesOnly([...labels, 'certificate']))];
      }
      if (kind === 'key') {
        return flagged('keys.get', item, { id }, 'preferPublic', isPublic =>
          unlessNamesOnly([...labels, isPublic ? 'public' : halfOf(item)]),
        );
      }
      return flagged('secrets.get', item, { name }, 'includeValue', withValue =>
        withValue ? unlessNamesOnly(whole) : namesOnly => (namesOnly ? ['name'] : labels),
      );
    }

    /** In Vault's dialect an answer does not repeat the name that was asked for. */
    function dialectSurfaces(): Surface[] {
      const ask = (path: string) => (token: string) =>
        service.call('GET', `/vault/v1/${path}`, undefined, null, { 'x-vault-token': token });
      const secrets = (about: string, path: string, facts: readonly Fact[], none: number): Surface => ({
        about,
        ask: ask(path),
        tells: (item, namesOnly) => (namesOnly && none === 403 ? [] : listed(item, 'secret', facts)),
        status: narrowing => {
          if (none === 403) return narrowing.namesOnly ? 403 : 200;
          const isEmpty = !items.some(
            item => item.kind === 'secret' && item.state === 'active' && sees(narrowing, item),
          );
          return isEmpty ? none : 200;
        },
      });
      const itself = ['auth/token/lookup-self', 'secret/config', 'sys/internal/ui/mounts/secret'];
      const fetches = items.flatMap(item => {
        const about = (verb: string) => `the dialect’s ${verb}`;
        const get = (verb: string) => ask(`secret/${verb}/${item.name}`);
        const isSecret = item.kind === 'secret';
        const value: Tells = namesOnly => (namesOnly ? 403 : ['value', 'tags']);
        const all = [
          directly(about('data'), item, get('data'), value),
          directly(about('subkeys'), item, get('subkeys'), namesOnly => (namesOnly ? 403 : ['tags'])),
          directly(about('metadata'), item, get('metadata'), () => ['tags']),
        ];
        // A key and a certificate are none of its secrets, whatever state they are in.
        return isSecret ? all : all.map(one => ({ ...one, tells: () => [], status: () => 404 }));
      });
      return [
        ...fetches,
        secrets('the dialect’s list', 'secret/metadata/?list=true', ['name'], 404),
        secrets('the dialect’s whole vault', `${vaultId}/data/_all`, ['name', 'value'], 403),
        ...itself.map(path => ({ about: path, ask: ask(path), tells: () => [] })),
      ].map(surface => ({ ...surface, unauthorized: 403 }) as const);
    }

    const surfaces = () => [
      ...dialectSurfaces(),
      ...vaultLists(),
      ...vaultFetches(),
      ...toolLists(),
      ...items.flatMap(toolFetchesOf),
    ];

    /** The status that the vault gives, also where a tool wraps it. */
    const statusOf = ({ status, body }: Answer): number =>
      body?.result?.isError ? body.result.structuredContent.status : status;

    function check(answer: Answer, surface: Surface, narrowing: Narrowing): void {
      const about = `a key narrowed to ${narrowing.about}, by ${surface.about}`;
      const refused = narrowing.refused === 401 ? (surface.unauthorized ?? 401) : narrowing.refused;
      const status = refused ?? surface.status?.(narrowing) ?? 200;
      assert.equal(statusOf(answer), status, `${about}: ${answer.text}`);
      const isRefused = narrowing.refused !== undefined;
      for (const item of items) {
        const told = sees(narrowing, item) ? surface.tells(item, narrowing.namesOnly ?? false) : [];
        checkItem(answer.text, item, isRefused ? [] : told, narrowing, about);
      }
    }

    function checkItem(
      text: string,
      item: Item,
      expected: readonly Fact[],
      narrowing: Narrowing,
      about: string,
    ): void {
      for (const [fact, mark] of Object.entries(item.marks) as [Fact, string][]) {
        const isDue = expected.includes(fact) && !(narrowing.namesOnly && fact === 'tags');
        assert.equal(text.includes(mark), isDue, `${about}: the ${fact} of ${item.name} in ${text}`);
      }
    }

    it('the walk asks every tool that reads', () => {
      const asked = surfaces().map(({ about }) => about.split(' ')[0]);
      assert.deepEqual(
        tools.filter(({ name, readOnly }) => readOnly && !asked.includes(name)),
        [],
      );
    });

    /** What is kept ready in memory is of the same kind over any store, so that is looked at over one. */
    async function askOf(surface: Surface, token: string, narrowing: Narrowing): Promise<void> {
      // What a key that sees everything was answered is kept ready, and is not for this one.
      if (engine === 'sqlite') await surface.ask(reader);
      check(await surface.ask(token), surface, narrowing);
      if (engine === 'sqlite') check(await surface.ask(token), surface, narrowing);
    }

    async function walk(token: string, narrowing: Narrowing): Promise<void> {
      if (narrowing.refused !== 401) {
        await Promise.all(surfaces().map(surface => askOf(surface, token, narrowing)));
        return;
      }
      for (const surface of surfaces()) {
        await askOf(surface, token, narrowing);
        service.clock.pass(61_000); // Failures are limited by the minute.
      }
    }

    for (const narrowing of narrowings) {
      it(`a key narrowed to ${narrowing.about} is told what that is, and no more, on every surface`, async () => {
        const { body, endsIn } = narrowing;
        const end = endsIn === undefined ? {} : { expiration_date: iso(service.clock.now() + endsIn) };
        const { token } = await make('access-keys', { vault_id: vaultId, name: 'k', ...body, ...end });
        if (endsIn !== undefined) service.clock.pass(2 * day);
        service.clock.standInNewMinute();
        if ('max_uses' in narrowing.body || 'rate_limit' in narrowing.body) {
          const used = await service.call('GET', `/api/v1/vaults/${vaultId}`, undefined, token);
          assert.equal(used.status, 200);
        }
        await walk(token, narrowing);
        service.clock.run();
      });
    }

    it('a public token gives the public half of its key while that is active, whatever else is asked', async () => {
      for (const item of items.filter(({ kind }) => kind === 'key')) {
        for (const more of [{}, { id: item.id }, { preferPublic: false }, { preferPublic: true }]) {
          const args = { code: publicTokens.get(item.id)!, ...more };
          const answer = await modernCall(service.url, 'keys.get', args);
          const status = { active: 200, future: 403, expired: 410, deleted: 404, disabled: 404 }[item.state];
          assert.equal(statusOf(answer), status, `${item.name}: ${answer.text}`);
          for (const other of items) {
            const told: readonly Fact[] = other === item && status === 200 ? ['name', 'public'] : [];
            checkItem(answer.text, other, told, narrowings[0]!, `the public token of ${item.name}`);
          }
        }
      }
    });
  });
}
