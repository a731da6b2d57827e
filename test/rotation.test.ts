import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook as Verifier } from 'standardwebhooks';
import { operatorOf } from '../src/cli/service/operator.ts';
import { codeAt, stepAt } from '../src/domain/sign-in/totp.ts';
import { askingDomain } from './asking.ts';
import { sealedFrom } from './bytes.ts';
import { type Result, run, setup, start, stop } from './command.ts';
import {
  beside,
  callService,
  engines,
  eventually,
  loopbackWebhooks,
  type Service,
  startService,
} from './harness.ts';
import { type Browser, type EmptyService, fromBase32, password, setUp, startEmpty } from './people.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { inDatabase, storedBytes } from './storage.ts';

type Place = Pick<EmptyService, 'data' | 'databaseUrl'>;

const placeOf = ({ data, databaseUrl }: Place) => [
  '--data',
  data,
  ...(databaseUrl === null ? [] : ['--database-url', databaseUrl]),
];
const rotate = (service: Place, ...flags: string[]) =>
  run(['keyring', 'rotate', ...placeOf(service), ...flags]);

async function rotated(service: Place): Promise<Record<string, never>> {
  const { code, stdout, stderr } = await rotate(service, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** What `keyring status` prints, found in this process; that the command prints it is tested once. */
async function stateOf(service: Place) {
  const { terms, behind } = await beside({ place: placeOf(service) }, ({ domain }) =>
    domain.rotation.state(),
  );
  return { terms: terms.map(({ id }) => id), behind };
}

async function printedState(service: Place) {
  const { code, stdout, stderr } = await run(['keyring', 'status', ...placeOf(service), '--json']);
  assert.equal(code, 0, stderr);
  const { terms, behind } = JSON.parse(stdout);
  return { terms: terms.map(({ id }: { id: number }) => id), behind };
}

/** The terms that anything in the database is sealed under, as the bytes themselves say. */
async function termsInUse(service: Place): Promise<number[]> {
  const columns = [
    'vault_key FROM resources',
    'secret FROM webhooks',
    'previous_secret FROM webhooks',
    'totp FROM accounts',
    'totp_pending FROM accounts',
  ];
  const found = await Promise.all(
    columns.map(column => storedBytes(service, `SELECT ${column} WHERE ${column.split(' ')[0]} IS NOT NULL`)),
  );
  return [...new Set(found.flat().map(bytes => bytes.readUInt32BE(2)))].sort();
}

const nothing = { vault: 0, webhook: 0, account: 0 };

for (const engine of engines) {
  describe(`rotation of the keyring on ${engine}`, () => {
    let service: EmptyService;
    let owner: Browser;
    let receiver: Receiver;
    let seed: string;
    let accessKey: string;
    let vaultId: string;
    let secretId: string;
    let trashedId: string;
    let webhook: { id: string; first: string; second: string };

    const make = async (kind: string, body: unknown) => {
      const answer = await owner.post(`/v1/${kind}`, body);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    };
    const read = () => callService(service.url, 'GET', `/api/v1/vaults/${vaultId}`, undefined, accessKey);
    const code = () => codeAt(fromBase32(seed), stepAt(service.clock.now()));

    before(async () => {
      service = await startEmpty(engine, loopbackWebhooks);
      owner = await setUp(service);
      receiver = await startReceiver();
      vaultId = (await make('vaults', { name: 'main', tags: { team: 'x' }, description: 'first' })).id;
      secretId = (await make('secrets', { vault_id: vaultId, name: 'S', value: 'one' })).id;
      await owner.call('PUT', `/v1/secrets/${secretId}`, { value: 'two' });
      accessKey = (await make('access-keys', { vault_id: vaultId, name: 'reader' })).token;
      for (let index = 0; index < 120; index++) await make('vaults', { name: `v${index}`, description: 'd' });
      trashedId = (await make('vaults', { name: 'trashed', description: 'away' })).id;
      await owner.call('DELETE', `/v1/vaults/${trashedId}`);
      const { id, secret: first } = await make('webhooks', {
        url: receiver.url,
        events: ['resource.updated'],
      });
      webhook = { id, first, second: (await owner.post(`/v1/webhooks/${id}/rotate-secret`)).body.secret };
      await owner.prove();
      seed = (await owner.post('/auth/totp/begin')).body.secret;
      assert.equal((await owner.post('/auth/totp', { code: code() })).status, 200);
    });
    after(async () => {
      await service.stop();
      await receiver.close();
    });

    /** Everything that was made before a rotation, used through its own door. */
    async function allWorks(): Promise<void> {
      assert.deepEqual((await read()).body.secrets[0].value, 'two');
      const versions = [1, 2].map(version => owner.post(`/v1/secrets/${secretId}/reveal`, { version }));
      assert.deepEqual(
        (await Promise.all(versions)).map(({ body }) => body.value),
        ['one', 'two'],
      );
      const listed = (await owner.get('/v1/vaults?limit=100&q=v')).body;
      assert.ok(listed.data.every(({ description }: { description: string }) => description === 'd'));
      assert.equal((await owner.get(`/v1/vaults/${vaultId}`)).body.description, 'first');
      receiver.arrivals.length = 0;
      await owner.call('PUT', `/v1/secrets/${secretId}`, { tags: { at: String(Math.random()) } });
      const [arrival] = await receiver.received(1);
      const at = new Date(Number(arrival!.headers['webhook-timestamp']) * 1000);
      const signed = [webhook.second, webhook.first].map(secret =>
        new Verifier(secret).sign(arrival!.id, at, arrival!.text),
      );
      assert.equal(arrival!.headers['webhook-signature'], signed.join(' '));
      service.clock.pass(60_000);
      const signedIn = await service.browser().signIn('owner@example.org', password, code());
      assert.equal(signedIn.status, 200, signedIn.text);
    }

    it('moves all that a term wraps while the service reads and writes, and retires the old term', async () => {
      const before = (await owner.get(`/v1/vaults/${vaultId}`)).body;
      let running = true;
      let reads = 0;
      const failures: string[] = [];
      const made: string[] = [];
      const note = ({ status, text }: { status: number; text: string }) => {
        if (status !== 200) failures.push(`${status} ${text}`);
      };
      const reader = async () => {
        for (; running; reads++) note(await read());
      };
      const writer = async () => {
        for (let index = 0; running; index++) {
          const answer = await owner.post('/v1/vaults', { name: `during ${index}`, description: 'd' });
          note(answer);
          made.push(answer.body.id);
          // What was kept ready is made anew, from the vault's key.
          note(await owner.call('PUT', `/v1/secrets/${secretId}`, { tags: { at: String(index) } }));
        }
      };
      const beside = [reader(), reader(), writer()];
      const report = await rotated(service);
      running = false;
      await Promise.all(beside);
      assert.deepEqual(failures, []);
      assert.ok(reads > 10 && made.length > 2, `${reads} reads, ${made.length} vaults made`);
      assert.equal(report.term, 2);
      assert.deepEqual([report.resumed, report.retired, report.needed], [false, [1], []]);
      assert.deepEqual(await termsInUse(service), [2]);
      assert.deepEqual(await stateOf(service), { terms: [2], behind: nothing });
      assert.deepEqual(await printedState(service), await stateOf(service));
      await allWorks();
      assert.equal((await owner.post(`/v1/resources/${trashedId}/restore`)).status, 200);
      assert.equal((await owner.get(`/v1/vaults/${trashedId}`)).body.description, 'away');
      await service.restart();
      await allWorks();
      for (const id of made)
        assert.equal((await owner.get(`/v1/vaults/${id}`)).body.description, 'd', 'made meanwhile');
      const { updated_at } = (await owner.get(`/v1/vaults/${vaultId}`)).body;
      assert.equal(updated_at, before.updated_at);
    });

    it('writes down each step, and the log verifies', async () => {
      const entries = async (action: string) =>
        (await owner.get(`/v1/audit-logs?limit=1&action=${action}`)).body.pagination.total;
      assert.equal(await entries('keyring.term_started'), 1);
      assert.equal(await entries('keyring.terms_retired'), 1);
      assert.ok((await entries('vault.key_rewrapped')) >= 122);
      assert.equal(await entries('webhook.secret_rewrapped'), 1);
      assert.equal(await entries('account.codes_rewrapped'), 1);
      const [latest] = (await owner.get('/v1/audit-logs?limit=1&action=keyring.term_started')).body.data;
      assert.equal(latest.actor.kind, 'operator');
      assert.deepEqual(latest.details, { term: 2 });
      // The service is ahead of the command's clock: what is dated so is believed once it is signed.
      await eventually(
        'the verifier can’t prove all entries',
        async () => (await run(['audit', 'verify', ...placeOf(service)])).code === 4,
      );
    });

    it('killed in the middle, it is finished by the next run, which starts no other term', async () => {
      const kill = async (when: RegExp): Promise<Result> => {
        const command = start(['keyring', 'rotate', ...placeOf(service)]);
        let said = '';
        command.child.stdout!.on('data', chunk => {
          said += chunk;
          if (when.test(said)) command.child.kill('SIGKILL');
        });
        return command.ended;
      };
      assert.equal((await kill(/Started/)).signal, 'SIGKILL');
      assert.deepEqual((await stateOf(service)).terms, [2, 3]);
      await allWorks();
      assert.equal((await kill(/vault keys moved/)).signal, 'SIGKILL');
      assert.deepEqual((await stateOf(service)).terms, [2, 3]);
      assert.deepEqual(await termsInUse(service), [2, 3]);
      const about = (await owner.get('/v1/about')).body;
      assert.equal(about.keyring_term, 3);
      const { behind } = await stateOf(service);
      assert.equal(about.vault_keys_on_older_terms, behind.vault);
      assert.ok(behind.vault > 0 && behind.webhook === 1 && behind.account === 1, JSON.stringify(behind));
      await allWorks();
      await service.restart();
      await allWorks();
      const report = await rotated(service);
      assert.deepEqual([report.term, report.resumed, report.retired], [3, true, [2]]);
      assert.deepEqual(await termsInUse(service), [3]);
      await allWorks();
    });

    it('killed at any moment, again and again, it never loses a key', async () => {
      for (let kills = 0; kills < 4; kills++) {
        const command = start(['keyring', 'rotate', ...placeOf(service), '--new-term']);
        await sleep(250 + Math.random() * 350);
        command.child.kill('SIGKILL');
        await command.ended;
        const listed = (await owner.get('/v1/vaults?limit=100&q=v')).body.data;
        assert.ok(listed.every(({ description }: { description: string }) => description === 'd'));
      }
      await service.restart();
      await rotated(service);
      const { terms } = await stateOf(service);
      assert.deepEqual([terms.length, await termsInUse(service)], [1, terms]);
      await allWorks();
    });

    it('a term stays while anything needs it, and goes with the next run after that', async () => {
      const term = (await stateOf(service)).terms[0]!;
      const name = (text: string) =>
        inDatabase(service, `UPDATE resources SET name = '${text}' WHERE id = '${trashedId}'`);
      await name('edited');
      const { code, stdout } = await rotate(service);
      assert.equal(code, 1);
      assert.match(stdout, new RegExp(`left unchanged: vault ${trashedId}`));
      assert.match(stdout, new RegExp(`Still in use, not retired: keyring version ${term}\n`));
      const behind = { ...nothing, vault: 1 };
      assert.deepEqual(await stateOf(service), { terms: [term, term + 1], behind });
      await allWorks();
      assert.equal((await rotate(service, '--new-term')).code, 1);
      assert.deepEqual((await stateOf(service)).terms, [term, term + 2]);
      await name('trashed');
      const report = await rotated(service);
      assert.deepEqual([report.term, report.resumed, report.retired], [term + 2, true, [term]]);
      assert.deepEqual(await stateOf(service), { terms: [term + 2], behind: nothing });
      assert.equal((await owner.get(`/v1/vaults/${trashedId}`)).body.description, 'away');
    });

    it('two at once end with one keyring that opens everything', async () => {
      const both = await Promise.all([rotate(service), rotate(service)]);
      assert.deepEqual(
        both.map(({ code }) => code),
        [0, 0],
        both.map(({ stderr }) => stderr).join(),
      );
      const { terms, behind } = await stateOf(service);
      assert.equal(terms.length, 1);
      assert.deepEqual([behind, await termsInUse(service)], [nothing, terms]);
      await allWorks();
    });

    it('the dashboard’s API tells the term in use and when it was started', async () => {
      const term = (await stateOf(service)).terms[0]!;
      const { body } = await owner.get('/v1/about');
      assert.equal(body.keyring_term, term);
      assert.ok(
        Math.abs(Date.parse(body.keyring_rotated_at) - Date.now()) < 600_000,
        body.keyring_rotated_at,
      );
      assert.equal(body.vault_keys_on_older_terms, 0);
    });

    it('a wrong root key changes nothing', async () => {
      const sealed = async () => [
        ...(await storedBytes(service, "SELECT value FROM meta WHERE key = 'keyring'")),
        ...(await storedBytes(
          service,
          'SELECT vault_key FROM resources WHERE vault_key IS NOT NULL ORDER BY id',
        )),
      ];
      const before = await sealed();
      const wrong = join(service.data, 'wrong.key');
      writeFileSync(wrong, `strongroom-root-key-v1:${Buffer.alloc(32, 7).toString('base64')}\n`, {
        mode: 0o400,
      });
      const { code, stdout, stderr } = await rotate(service, '--root-key-file', wrong);
      assert.equal(code, 1);
      assert.match(stderr, /^strongroom: the root key in \S+ is not the one that protects this data\n$/);
      assert.equal(stdout, '');
      assert.deepEqual(await sealed(), before);
    });
  });

  describe(`a process that has not heard of a new term, on ${engine}`, () => {
    let service: Service;
    before(async () => {
      service = await startService({ engine });
    });
    after(() => service.stop());

    it('reads what is wrapped under it, and seals nothing under the retired one', async () => {
      const { body: vault } = await service.call('POST', '/v1/vaults', { name: 'v', description: 'd' });
      await beside(service, async ({ domain, store, keyring, newId }) => {
        const { vaults } = askingDomain(domain);
        const operator = operatorOf(service.organizationId, newId);
        await rotated(service);
        assert.equal((await vaults.get(operator, vault.id)).description, 'd');
        assert.equal(keyring.term, 2);
        await rotated(service);
        const made = await vaults.create(operator, { name: 'w', description: 'e' });
        const row = await store.resources.byId(service.organizationId, made.id);
        assert.equal(Buffer.from(row!.vault_key!).readUInt32BE(2), 3);
      });
      assert.deepEqual(await termsInUse(service), [3]);
    });

    it('a vault that is sealed under a term, which is retired before it is stored, is sealed anew', async () => {
      await beside(service, async ({ domain, store, newId }) => {
        const { vaults } = askingDomain(domain);
        const { commit } = store;
        let meanwhile: Promise<unknown> | null = null;
        const late: typeof commit = async (units, options) => {
          // What is about to be stored is sealed by now.
          meanwhile ??= rotated(service);
          await meanwhile;
          return commit(units, options);
        };
        Object.assign(store, { commit: late });
        await vaults.create(operatorOf(service.organizationId, newId), {
          name: 'late',
          description: 'd',
        });
        assert.notEqual(meanwhile, null);
      });
      const { terms } = await stateOf(service);
      assert.deepEqual([terms.length, await termsInUse(service)], [1, terms]);
      const listed = (await service.call('GET', '/v1/vaults?q=late')).body.data;
      assert.deepEqual(
        listed.map(({ description }: { description: string }) => description),
        ['d'],
      );
    });

    it('what it sealed before it heard is refused, also when the old term is not retired yet', async () => {
      await beside(service, async ({ domain, store, newId }) => {
        const { vaults } = askingDomain(domain);
        const operator = operatorOf(service.organizationId, newId);
        const stored = (await store.keyring.read())!;
        await domain.rotation.run(id => operatorOf(id, newId));
        await assert.rejects(store.commit([{ statements: [store.keyring.requireCurrent(stored)] }]));
        await vaults.create(operator, { name: 'x', description: '' });
      });
    });

    it('an older keyring that somebody puts back is not followed: nothing is sealed until it is gone', async () => {
      const put = (hex: string) =>
        inDatabase(
          service,
          `UPDATE meta SET value = ${engine === 'sqlite' ? `X'${hex}'` : `'\\x${hex}'`} WHERE key = 'keyring'`,
        );
      const stored = async () =>
        (await storedBytes(service, "SELECT value FROM meta WHERE key = 'keyring'"))[0]!.toString('hex');
      const make = async (name: string) => (await service.call('POST', '/v1/vaults', { name })).status;
      const older = await stored();
      await rotated(service);
      assert.equal(await make('before'), 200);
      const newer = await stored();
      await put(older);
      assert.equal(await make('meanwhile'), 503);
      assert.equal((await service.call('GET', '/v1/vaults')).status, 200);
      await put(newer);
      assert.equal(await make('after'), 200);
      assert.equal((await termsInUse(service)).length, 1);
    });

    it('a term is not taken out of the keyring while a row names it', async () => {
      await beside(service, async ({ store, keyring }) => {
        const stored = (await store.keyring.read())!;
        const mark = Buffer.alloc(4);
        mark.writeUInt32BE(keyring.term);
        const statements = store.keyring.retire(stored, sealedFrom('{}'), [mark]);
        await assert.rejects(store.commit([{ statements }]), /refused/);
        assert.deepEqual(Buffer.from((await store.keyring.read())!), Buffer.from(stored));
      });
    });
  });
}

describe('rotation behind a passphrase', () => {
  it('asks for it once, and a running service learns of the new term', async () => {
    const data = mkdtempSync(join(tmpdir(), 'strongroom-rotation-'));
    const place = ['--data', data];
    const env = { STRONGROOM_PASSPHRASE: 'correct horse battery' };
    const key = await setup(place, { env });
    const service = start(['serve', ...place, '--port', '0'], { env });
    const url = await service.url;
    const call = (method: string, path: string, body?: unknown) => callService(url, method, path, body, key);
    const { body: vault } = await call('POST', '/v1/vaults', { name: 'v', description: 'd' });
    const { code, stderr } = await run(['keyring', 'rotate', ...place], { env });
    assert.equal(code, 0, stderr);
    const reads = await Promise.all(Array.from({ length: 20 }, () => call('GET', `/v1/vaults/${vault.id}`)));
    assert.ok(reads.every(({ body }) => body.description === 'd'));
    assert.equal((await call('GET', '/v1/about')).body.keyring_term, 2);
    await stop(service);
    await rm(data, { recursive: true, force: true });
  });
});
