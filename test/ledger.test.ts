import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Failure } from '../src/contract/errors.ts';
import { idGenerator } from '../src/contract/id.ts';
import { blockIdOf, entriesOf } from '../src/logs/blocks.ts';
import { chainStart, entryIdOf, type Link, linkHash, receiptOf } from '../src/logs/chain.ts';
import type { AuditEntry, RequestEntry } from '../src/logs/entries.ts';
import { ChangeRefused, Ledger } from '../src/logs/ledger.ts';
import { databaseSource } from '../src/logs/source.ts';
import { Meter } from '../src/metrics/meter.ts';
import type { Statement, Unit } from '../src/store/engine/engine.ts';
import type { Stream } from '../src/store/records/logs.ts';
import { openStore, type Store } from '../src/store/store.ts';
import { stampFrom } from './bytes.ts';
import { engines } from './harness.ts';
import { dataRoot, freshDatabase } from './postgres.ts';

const newId = idGenerator(Date.now);
const organizationId = newId();
const keyring = { chainMark: (hash: string) => createHmac('sha256', 'k').update(hash).digest('base64url') };

const request = (requested: string): RequestEntry => ({
  organization_id: organizationId,
  success: true,
  resource_type: 'vault',
  ip_address: '127.0.0.1',
  route: '/api/v1/vaults/{vault_id}',
  method: 'GET',
  status: 200,
  vault_id: null,
  access_key_id: null,
  requested,
  tool: null,
  user_agent: '',
  duration_ms: 1,
  request_id: '',
});

const audit = (action: string): AuditEntry => ({
  organization_id: organizationId,
  actor: { kind: 'operator', id: 'x', name: 'x' },
  action,
  outcome: 'allowed',
  subject: null,
  revision: null,
  vault_id: null,
  ip_address: '',
  user_agent: '',
  request_id: '',
  details: {},
});

/** The real store, with every submission counted, and failing when told to. */
function watched(store: Store) {
  const submissions: (readonly Unit[])[] = [];
  const state = { fail: 0, hold: null as Promise<void> | null };
  const commit: Store['commit'] = async units => {
    submissions.push(units);
    await state.hold;
    if (state.fail > 0) {
      state.fail--;
      throw new Failure('UNAVAILABLE');
    }
    return store.commit(units);
  };
  return { store: { ...store, commit }, submissions, state };
}

for (const engine of engines) {
  describe(`the ledger on ${engine}`, () => {
    let store: Store;
    let folder: string;

    before(async () => {
      folder = mkdtempSync(join(dataRoot(), 'strongroom-ledger-'));
      store = await openStore(
        engine === 'sqlite'
          ? { engine, path: join(folder, 'strongroom.db'), serves: true }
          : { engine, url: await freshDatabase() },
      );
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    });

    const ledgerOver = (over: Store) =>
      new Ledger({ store: over, keyring, now: Date.now, newId, meter: new Meter() });
    const insert = (name: string): Statement =>
      store.organizations.insert({
        id: newId(),
        name,
        plan: 'pro',
        enterprise_limit: 0,
        created_at: 1,
        updated_at: 1,
        revision: 1,
        stamp: stampFrom(Buffer.alloc(32)),
      });

    /** Every chain of a stream, link by link, from its first to its head; and what its entries tell of. */
    async function checkChains(stream: Stream): Promise<Map<string, string[]>> {
      await ledgerOver(store).settle(); // As the next start does, whatever the ledgers before it left.
      const chains = new Map<string, string[]>();
      const links = new Map<string, Link>();
      for await (const link of databaseSource(store).links(stream)) {
        const before = links.get(link.writer) ?? chainStart;
        assert.equal(link.seq, before.seq + 1, 'no gap');
        const hash = linkHash(stream, link.writer, before, link.id, link.text);
        assert.equal(hash, link.hash, 'the hash follows from the link before');
        assert.equal(keyring.chainMark(hash), link.mark);
        assert.equal(link.filed, 'right');
        links.set(link.writer, link);
        const told =
          stream === 'audit'
            ? [JSON.parse(link.text).action]
            : entriesOf(link.id, link.text).map(entry => entry.requested);
        chains.set(link.writer, [...(chains.get(link.writer) ?? []), ...told]);
      }
      for (const head of (await store.logs.heads()).filter(one => one.stream === stream)) {
        assert.equal(links.get(head.writer)?.seq, head.seq);
        assert.equal(links.get(head.writer)?.hash, head.hash, 'the head is the last link');
      }
      return chains;
    }
    const chainHolding = async (stream: Stream, text: string) =>
      [...(await checkChains(stream)).values()].find(chain => chain.includes(text));

    it('entries that arrive while one is synced share the next commit, in the order they came', async () => {
      const { store: over, submissions } = watched(store);
      const ledger = ledgerOver(over);
      const names = Array.from({ length: 300 }, (_, index) => `together ${index}`);
      const receipts = await Promise.all(names.map(name => ledger.record(request(name))));
      assert.equal(new Set(receipts).size, 300);
      assert.ok(submissions.length <= 3, `${submissions.length} commits for 300 entries`);
      assert.deepEqual(await chainHolding('request', 'together 0'), names);
    });

    it('is durable when it resolves, and the receipt names the entry and its hash', async () => {
      const receipt = await ledgerOver(store).record(request('receipt'));
      const [id = ''] = receipt.split('.');
      const block = (await store.requestLogs.block(blockIdOf(id)))!;
      assert.equal(receiptOf(id, block.hash), receipt);
      const [entry] = entriesOf(block.id, block.text);
      assert.deepEqual(entry, { id, created_at: entry!.created_at, ...request('receipt'), count: 1 });
    });

    it('the chain goes on from group to group, one for each stream', async () => {
      const ledger = ledgerOver(store);
      for (let index = 0; index < 5; index++) {
        await Promise.all([ledger.record(request(`on ${index}`)), ledger.commit([audit(`on ${index}`)])]);
      }
      const expected = [0, 1, 2, 3, 4].map(index => `on ${index}`);
      assert.deepEqual(await chainHolding('request', 'on 0'), expected);
      assert.deepEqual(await chainHolding('audit', 'on 0'), expected);
    });

    it('a refused change leaves its entry out; the rest of its group is chained anew and kept', async () => {
      const ledger = ledgerOver(store);
      const commit = (name: string, taken: string) =>
        ledger.commit([audit(name)], { statements: [insert(taken)], touches: [] });
      const outcomes = await Promise.allSettled([
        ledger.commit([audit('r first')]),
        commit('r good 1', 'name 1'),
        commit('r bad 1', 'name 1'),
        commit('r good 2', 'name 2'),
        commit('r bad 2', 'name 2'),
        ledger.record(request('r request')),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled'],
      );
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') {
          assert.ok(outcome.reason instanceof ChangeRefused);
          assert.equal(outcome.reason.refusal, 'taken');
        }
      }
      assert.deepEqual(await chainHolding('audit', 'r first'), ['r first', 'r good 1', 'r good 2']);
      assert.ok(await store.organizations.byName('name 2'));
      await ledger.commit([audit('r after')]);
      assert.deepEqual((await chainHolding('audit', 'r first'))?.at(-1), 'r after');
    });

    it('after any other failure nothing is acknowledged, and a new writer starts a chain of its own', async () => {
      const { store: over, state } = watched(store);
      const ledger = ledgerOver(over);
      await ledger.commit([audit('f before')]);
      state.fail = 1;
      const failed = await Promise.allSettled([
        ledger.commit([audit('f lost')], { statements: [insert('lost')], touches: [] }),
        ledger.record(request('f lost')),
      ]);
      for (const outcome of failed) {
        assert.ok(outcome.status === 'rejected' && (outcome.reason as Failure).code === 'UNAVAILABLE');
      }
      await ledger.commit([audit('f after')]);
      assert.deepEqual(await chainHolding('audit', 'f before'), ['f before']);
      assert.deepEqual(await chainHolding('audit', 'f after'), ['f after']);
      assert.equal(await chainHolding('audit', 'f lost'), undefined);
      assert.equal(await store.organizations.byName('lost'), undefined);
    });

    it('a mistake of ours while chaining fails its group, and leaves nobody waiting', async () => {
      const ledger = ledgerOver(store);
      await assert.rejects(ledger.commit([]), Failure);
      await ledger.commit([audit('m after')]);
      await ledger.drain();
    });

    it('the queue is bounded: past it, callers are told to come again', async () => {
      const { store: over, state } = watched(store);
      let release = () => {};
      state.hold = new Promise(resolve => {
        release = resolve;
      });
      const ledger = ledgerOver(over);
      const settled = Array.from({ length: 20_500 }, (_, index) => ledger.record(request(`q ${index}`)));
      let isLastRefused = false;
      settled[19_999]!.catch(() => {
        isLastRefused = true;
      });
      const refusals = settled
        .slice(20_000)
        .map(promise => Promise.race([promise.catch((error: Failure) => error), setImmediate('it waits')]));
      for (const refusal of await Promise.all(refusals)) {
        assert.ok(refusal instanceof Failure);
        assert.equal(refusal.code, 'UNAVAILABLE');
        assert.equal(refusal.retryAfter, 1);
      }
      assert.equal(isLastRefused, false);
      state.fail = 1_000; // What was queued need not be written for the rest of this test.
      const rest = Promise.allSettled(settled);
      release();
      await rest;
      await ledger.drain();
      state.fail = 0;
      await ledger.record(request('q after'));
      assert.deepEqual(await chainHolding('request', 'q after'), ['q after']);
    });

    it('totals follow what was kept', async () => {
      const { total } = await store.logs.auditPage({ organizationId }, { page: 1, limit: 1 });
      const rows = await store.logs.auditStretch(0, 100_000);
      assert.equal(total, rows.length);
      let requests = 0;
      for (const chain of (await checkChains('request')).values()) requests += chain.length;
      assert.equal(await store.requestLogs.total({ organizationId }), requests);
      assert.equal(await store.requestLogs.total({ organizationId, status: 200 }), requests);
    });

    it('what is durable is found once it is settled, and its head is the one to sign', async () => {
      const ledger = ledgerOver(store);
      const mine = newId();
      const record = (name: string) => ledger.record({ ...request(name), organization_id: mine });
      await record('s 1');
      const receipt = await record('s 2');
      await ledger.settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine }), 2);
      const block = (await store.requestLogs.block(blockIdOf(entryIdOf(receipt))))!;
      const head = (await store.logs.heads()).find(
        one => one.writer === block.writer && one.stream === 'request',
      );
      assert.deepEqual([head?.seq, head?.hash], [block.seq, block.hash]);
      await ledger.settle();
      await record('s 3');
      await ledger.settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine }), 3);
      const left = await store.requestLogs.left();
      assert.ok(!left.some(({ writer }) => writer === block.writer));
    });

    it('what a process leaves that dies is filed by the next one, once', async () => {
      const mine = newId();
      const dying = ledgerOver(store);
      for (const name of ['d 1', 'd 2']) await dying.record({ ...request(name), organization_id: mine });
      for (const next of [ledgerOver(store), ledgerOver(store)]) {
        await next.settle();
        assert.equal(await store.requestLogs.total({ organizationId: mine }), 2);
        assert.equal(await store.requestLogs.total({ organizationId: mine, status: 200 }), 2);
      }
      assert.deepEqual(await store.requestLogs.left(), []);
      assert.ok(await chainHolding('request', 'd 2'));
    });

    it('a block that somebody left there, of whatever shape, stops neither the filing of others nor ours', async () => {
      const mine = newId();
      const ledger = ledgerOver(store);
      const forged = { seq: 1, hash: 'A'.repeat(43), mark: 'A'.repeat(43) };
      const texts = [
        '{',
        '{"alike":[{"organization_id":"x"}],"entries":[[0,1]]}',
        '{"alike":[],"entries":[[7,1]]}',
      ];
      const [ids, writers] = [texts.map(newId), texts.map(newId)];
      for (const [index, text] of texts.entries()) {
        const block = { ...forged, id: ids[index]!, writer: writers[index]!, text };
        const statements = [
          store.requestLogs.append(block),
          store.requestLogs.leave({ writer: block.writer, from_id: block.id }),
        ];
        await store.commit([{ statements }]);
      }
      await ledger.record({ ...request('z'), organization_id: mine });
      await ledger.settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine, status: 200 }), 1);
      const left = (await store.requestLogs.left()).map(({ from_id }) => from_id);
      // Where several processes write, each files its own at once, and nobody touches what another is said to have left.
      assert.deepEqual(left.sort(), engine === 'sqlite' ? [] : ids.toSorted());
      const heads = await store.logs.heads();
      assert.ok(!heads.some(({ hash }) => hash === forged.hash), 'what is not ours is no head');
      const statements = [...store.requestLogs.remove(ids, []), ...writers.map(store.requestLogs.noneLeft)];
      await store.commit([{ statements }]);
    });

    it('somebody who says of filed blocks that they are not changes nothing', async () => {
      const mine = newId();
      const ledger = ledgerOver(store);
      const receipt = await ledger.record({ ...request('l'), organization_id: mine });
      await ledger.settle();
      const { id, writer } = (await store.requestLogs.block(blockIdOf(entryIdOf(receipt))))!;
      await store.commit([{ statements: [store.requestLogs.leave({ writer, from_id: id })] }]);
      await ledgerOver(store).settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine }), 1);
      assert.equal(await store.requestLogs.total({ organizationId: mine, status: 200 }), 1);
      await store.commit([{ statements: [store.requestLogs.noneLeft(writer)] }]);
    });

    it('what was not filed when a commit failed is filed under its own writer', async () => {
      const { store: over, state } = watched(store);
      const ledger = ledgerOver(over);
      const mine = newId();
      const record = (name: string) => ledger.record({ ...request(name), organization_id: mine });
      await record('w 1');
      state.fail = 1;
      await assert.rejects(record('w lost'));
      await record('w 2');
      state.fail = 1;
      await ledger.settle().catch(() => {}); // There may have been nothing to do.
      state.fail = 0;
      await ledger.settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine, status: 200 }), 2);
      assert.deepEqual(await chainHolding('request', 'w 1'), ['w 1']);
      assert.deepEqual(await chainHolding('request', 'w 2'), ['w 2']);
    });

    it('what is not filed is bounded: a crash leaves little to do', async () => {
      const ledger = ledgerOver(store);
      const mine = newId();
      const record = () => ledger.record({ ...request('b'), organization_id: mine, vault_id: newId() });
      for (let round = 0; round < 12; round++) await Promise.all(Array.from({ length: 400 }, record));
      const filed = await store.requestLogs.total({ organizationId: mine, status: 200 });
      assert.ok(filed >= 3_500, `${filed} of 4,800`);
      await ledger.settle();
      assert.equal(await store.requestLogs.total({ organizationId: mine, status: 200 }), 4_800);
    });
  });
}
