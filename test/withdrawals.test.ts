/** Everything that takes something from someone, done after a backup: restored with the newer log, it is taken again or named. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { operatorOf } from '../src/cli/service/operator.ts';
import { auditActions, auditEffects, effectOf, mayWithdraw } from '../src/contract/audit-actions.ts';
import { entryOf } from '../src/domain/kernel/audit-entries.ts';
import { databaseSource, exportLines } from '../src/logs/source.ts';
import { locationOf } from '../src/service/opening/open-data.ts';
import { type Running, serve } from '../src/service/serve.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { openSnapshot } from '../src/store/store.ts';
import { configOf, emptyPlace, pair, take } from './backups.ts';
import { run } from './command.ts';
import { beside, cheapPasswords, engines, loopbackWebhooks } from './harness.ts';
import { oneThread } from './one-thread.ts';
import { type Browser, type EmptyService, setUp, startEmpty } from './people.ts';
import { dataFolder } from './postgres.ts';
import { type Prepared, withdrawalsIn } from './withdrawals.ts';

interface Named {
  readonly action: string;
  readonly id: string;
}

/** What the command prints. */
async function restore(folder: string, to: readonly string[], ...flags: readonly string[]): Promise<string> {
  writeFileSync(join(folder, 'key'), pair.identity);
  const given = ['--backup-key-file', join(folder, 'key'), '--newer-log', join(folder, 'newer.jsonl')];
  const all = ['restore', join(folder, 'backup.age'), ...to, ...given, '--revoke-again', ...flags];
  const { code, stdout, stderr } = await run(all);
  assert.equal(code, 0, stderr);
  return stdout;
}

async function exportLogs(place: readonly string[], file: string): Promise<void> {
  const snapshot = await openSnapshot(locationOf(configOf(place), false));
  const lines: string[] = [];
  for await (const line of exportLines(databaseSource(snapshot), {})) lines.push(line);
  await snapshot.close();
  writeFileSync(file, lines.join(''));
}

for (const engine of engines) {
  describe(`what was withdrawn after a backup of ${engine}`, () => {
    let service: EmptyService;
    let folder: string;
    let to: string[];
    let restored: Running;
    let report: { revoked_since: Named[]; review: Named[]; [more: string]: unknown };
    const broken: string[] = [];
    const prepared: (Prepared & { readonly action: string })[] = [];

    before(async () => {
      folder = await dataFolder();
      service = await startEmpty(engine, [...loopbackWebhooks, '--oauth', 'offered']);
      for (const [action, prepare] of Object.entries(withdrawalsIn(service, await setUp(service))))
        prepared.push({ action, ...(await named(action, prepare())) });
      for (const { action, asked } of prepared)
        if (asked !== undefined && (await asked(service.url)) !== 200) broken.push(action);
      await take(service.place, join(folder, 'backup.age'));
      for (const { action, withdraw } of prepared.toSorted(rootKeyLast)) await named(action, withdraw());
      await exportLogs(service.place, join(folder, 'newer.jsonl'));
      to = await emptyPlace('sqlite', service.data);
      report = JSON.parse(await restore(folder, to, '--json'));
      restored = await serve(readConfig(serveOptions, [...to, '--port', '0', '--oauth', 'offered'], {}), {
        report: () => {},
        passwordCosts: cheapPasswords,
        ...oneThread,
      });
    });
    after(async () => {
      await restored?.stop();
      await service.stop();
      for (const { close } of prepared) await close?.();
      for (const path of [folder, to?.[1]]) await rm(path ?? folder, { recursive: true, force: true });
    });

    it('is named, whatever it was', () => {
      const told = new Set([...report.revoked_since, ...report.review].map(({ action }) => action));
      assert.deepEqual(
        prepared.map(({ action }) => action).filter(action => !told.has(action)),
        [],
      );
      assert.deepEqual([report.unknown_actions, report.archived_audit_entries], [[], 0]);
    });

    it('worked before', () => assert.deepEqual(broken, []));

    it('works no more once it was withdrawn, and neither after restore --revoke-again', async () => {
      assert.deepEqual(report.not_revoked_again, []);
      for (const { action, asked = async () => 401 } of prepared) {
        assert.notEqual(await asked(service.url), 200, `${action} at the service`);
        assert.notEqual(await asked(restored.url), 200, `${action} at the restored service`);
      }
    });

    it('is tried where it worked before', () => {
      const tried = new Set(prepared.filter(({ asked }) => asked !== undefined).map(({ action }) => action));
      assert.deepEqual(
        [...new Set(report.revoked_since.map(({ action }) => action))].filter(action => !tried.has(action)),
        [],
      );
    });
  });
}

describe('a newer log', () => {
  let service: EmptyService;
  let owner: Browser;
  let folder: string;
  const made: Record<string, { id: string; token: string; name: string }> = {};

  before(async () => {
    folder = await dataFolder();
    service = await startEmpty('sqlite');
    owner = await setUp(service);
    const create = async (path: string, body: object) => (await owner.post(path, body)).body;
    made.vault = await create('/v1/vaults', { name: 'v' });
    made.secret = await create('/v1/secrets', { vault_id: made.vault!.id, name: 'S', value: 'x' });
    made.key = await create('/v1/access-keys', { vault_id: made.vault!.id, name: 'denied' });
    await take(service.place, join(folder, 'backup.age'));
  });
  after(async () => {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const restored = async (...flags: readonly string[]) => {
    await exportLogs(service.place, join(folder, 'newer.jsonl'));
    const to = await emptyPlace('sqlite', service.data);
    const text = await restore(folder, to, ...flags);
    await rm(to[1]!, { recursive: true, force: true });
    return text;
  };

  it('in which nothing was withdrawn says so', async () => {
    await owner.call('PUT', `/v1/secrets/${made.secret!.id}`, { value: 'y' });
    const text = await restored();
    assert.match(text, /^Nothing was revoked after this backup$/m);
    assert.match(text, /^Other changes that are lost: 1$/m);
  });

  it('that says that a revocation was denied has nothing revoked', async () => {
    const { id } = (await owner.get('/v1/organization')).body;
    await beside(service, ({ domain, newId }) =>
      domain.ledger.commit([
        entryOf(
          operatorOf(id, newId),
          'access-key.revoked',
          'denied',
          { type: 'access-key', ...made.key! },
          null,
          {},
        ),
      ]),
    );
    assert.match(await restored(), /^Nothing was revoked after this backup$/m);
  });

  it('in which what was deleted was restored has nothing deleted', async () => {
    const path = `/v1/secrets/${made.secret!.id}`;
    assert.equal((await owner.call('DELETE', path)).status, 200);
    assert.equal((await owner.post(`/v1/resources/${made.secret!.id}/restore`)).status, 200);
    assert.match(await restored(), /^Nothing was revoked after this backup$/m);
    assert.equal((await owner.call('DELETE', path)).status, 200);
    assert.match(await restored(), new RegExp(`^  secret.deleted S \\(${made.secret!.id}\\)`, 'm'));
  });

  it('of a newer version never says that nothing was revoked: its actions are named', async () => {
    await beside(service, ({ domain }) =>
      domain.accept({ verb: 'vault.melted' as 'log.clock_accepted', details: {} }),
    );
    const text = await restored();
    assert.doesNotMatch(text, /Nothing was revoked/);
    assert.match(text, /^Actions that this version does not know.*:\n {2}vault\.melted, 2 times$/m);
    assert.deepEqual(JSON.parse(await restored('--json')).unknown_actions, [
      { action: 'vault.melted', count: 2 },
    ]);
  });
});

/** The commands beside the service need the root key that is at its usual place. */
function rootKeyLast(one: { action: string }, other: { action: string }): number {
  const rank = ({ action }: { action: string }) => Number(action === 'keyring.root_key_changed');
  return rank(one) - rank(other);
}

function named<T>(action: string, done: Promise<T>): Promise<T> {
  return done.catch(error => Promise.reject(new Error(action, { cause: error })));
}

describe('the table of audit actions', () => {
  it('says of every action what it does, and of a denied one that it was refused', () => {
    for (const action of auditActions) {
      assert.ok(auditEffects.includes(effectOf({ action, outcome: 'allowed' })!), action);
      assert.equal(effectOf({ action, outcome: 'denied' }), 'refuses');
    }
  });

  it('knows no action that it was not told of, whatever it is called', () => {
    for (const action of ['vault.melted', 'constructor', '__proto__', '']) {
      assert.equal(effectOf({ action, outcome: 'allowed' }), null);
      assert.equal(mayWithdraw(action), false);
    }
  });
});
