/**
 * Authority by construction: what is looked up takes the permit for what is done with it, the permission is asked for
 * once, and the guard alone writes audit entries. What must not compile is marked so; the type check holds it.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { type Caller, trustedCaller } from '../src/access/caller.ts';
import { Failure } from '../src/contract/errors.ts';
import type { Domain } from '../src/domain/domain.ts';
import { type Guard, guardWith } from '../src/domain/kernel/guard.ts';
import type { Permit } from '../src/domain/kernel/permits.ts';
import type { Records } from '../src/domain/resources/records.ts';
import { revealedOf, subjectOf } from '../src/domain/resources/subject.ts';
import { route } from '../src/http/routes/route.ts';
import { openStrongroom, type Strongroom } from '../src/service/opening/open.ts';
import { serveOptions } from '../src/service/settings/command-options.ts';
import { readConfig } from '../src/service/settings/config.ts';
import { askingDomain } from './asking.ts';
import { type Service, startService } from './harness.ts';

const id = '';
const change = { statements: [] };

/** Never called: that it compiles is the test, and each line that is expected to fail must fail. */
export async function whatCompiles(
  guard: Guard,
  records: Records,
  caller: Caller,
  { secrets, keys }: Domain,
): Promise<void> {
  const reading = await guard.admit(caller, 'secrets:read');
  const writing = await guard.admit(caller, 'secrets:write');
  const revealing = await guard.admit(caller, 'secrets:reveal');
  const found = {
    toRead: await records.find(reading, 'secret', id),
    toWrite: await records.find(writing, 'secret', id),
    toReveal: await records.find(revealing, 'secret', id),
  };

  await guard.change(writing, 'secret.updated', { ...change, subjects: [subjectOf(found.toWrite)] });
  // @ts-expect-error: what was found for reading is not changed.
  await guard.change(writing, 'secret.updated', { ...change, subjects: [subjectOf(found.toRead)] });
  // @ts-expect-error: a permit to read changes nothing.
  await guard.change(reading, 'secret.updated', { ...change, subjects: [subjectOf(found.toRead)] });
  // @ts-expect-error: a caller is no permit.
  await guard.change(caller, 'secret.updated', { ...change, subjects: [subjectOf(found.toWrite)] });
  // @ts-expect-error: nor is what looks like one.
  const forged: Permit<'secrets:write'> = { caller, action: 'secrets:write' };

  await guard.reveal(revealing, 'secret.revealed', [revealedOf(found.toReveal)], () => {});
  // @ts-expect-error: what was found for reading is not revealed.
  await guard.reveal(revealing, 'secret.revealed', [revealedOf(found.toRead)], () => {});
  // @ts-expect-error: a permit to write reveals nothing.
  await guard.reveal(writing, 'secret.updated', [revealedOf(found.toWrite)], () => {});

  await records.revise(writing, 'secret', id, () => ({}));
  // @ts-expect-error: a permit for secrets changes no key.
  await records.revise(writing, 'key', id, () => ({}));
  // @ts-expect-error: nor does it delete one.
  await records.remove(writing, 'key', id, false);
  // @ts-expect-error: nothing is looked up for a caller who was not asked what for.
  await records.find(caller, 'secret', id);
  void forged;

  await secrets.update(writing, id, {});
  // @ts-expect-error: an operation takes a permit, and asks no caller.
  await secrets.update(caller, id, {});
  // @ts-expect-error: one that writes takes one to write.
  await secrets.update(reading, id, {});
  // @ts-expect-error: one of keys takes one for keys.
  await keys.get(reading, id);

  const about = { operationId: '', summary: '', answer: z.any() } as const;
  const needs = { all: ['secrets:read', 'secrets:write'] } as const;
  route('GET /', { ...about, needs, handle: ({ permits: [read] }) => secrets.get(read, id) });
  route('GET /', { ...about, needs, handle: ({ permits: [, write] }) => secrets.update(write, id, {}) });
  // @ts-expect-error: a route does nothing that it does not declare to need.
  route('GET /', { ...about, needs, handle: ({ permits: [read] }) => secrets.reveal(read, id, 1) });
}

describe('authority by construction', () => {
  let service: Service;
  let strongroom: Strongroom;
  let asked: string[];
  let organizationId: string;

  before(async () => {
    service = await startService();
    ({ organizationId } = await service.organization('Permits'));
    strongroom = await openStrongroom(readConfig(serveOptions, service.place, {}), false, service.clock.now);
  });
  after(async () => {
    await strongroom.close();
    await service.stop();
  });

  /** A caller whose role is read when a permission is asked for, and then alone. */
  function counting(): Caller {
    asked = [];
    const caller = trustedCaller('operator', 'o', 'o', organizationId, '');
    return Object.defineProperty({ ...caller }, 'role', {
      get: () => {
        asked.push('role');
        return 'owner';
      },
    }) as Caller;
  }

  it('a permission is asked for once, whatever is written', async () => {
    const { vaults, secrets, keys, webhooks, members } = askingDomain(strongroom.domain);
    const caller = counting();
    const once = async <T>(what: string, done: Promise<T>, permissions = 1): Promise<T> => {
      const result = await done;
      assert.equal(asked.length, permissions, what);
      asked.length = 0;
      return result;
    };
    const vault = await once('vault', vaults.create(caller, { name: 'v' }));
    const place = { vault_id: vault.id, name: 'S' };
    const secret = await once('secret', secrets.create(caller, { ...place, value: 'x' }));
    await once('update', secrets.update(caller, secret.id, { value: 'y' }));
    // An earlier value takes the permission to read it too, where access keys could see it.
    await once('rollback', secrets.rollback(caller, secret.id, 1), 2);
    await once('reveal', secrets.reveal(caller, secret.id, undefined));
    await once('delete', secrets.remove(caller, secret.id, true));
    const generate = { key_type: 'EC', curve: 'P-256' } as const;
    const key = await once('key', keys.create(caller, { ...place, name: 'K', generate }));
    await once('rotate', keys.rotate(caller, key.id, {}));
    await once('get', keys.get(caller, key.id));
    const url = 'https://hooks.example.com/';
    const { id: webhook } = await webhooks.create(caller, { url, events: ['resource.created'] });
    asked.length = 0;
    await once('rotation', webhooks.rotateSecret(caller, webhook));
    await once('removal', webhooks.remove(caller, webhook));
    assert.equal((await members.list(caller, { page: 1, limit: 1 })).data.length, 0);
  });

  it('what is another organization’s, or lies where the permit is not good, is not found, however it was looked up', async () => {
    const guard = guardWith({ ledger: null as never, authority: null as never, now: () => 0 });
    const all = trustedCaller('operator', 'o', 'o', 'one', '');
    const some = {
      ...all,
      role: 'none',
      vaultRoles: new Map([['v1', [{ role: 'owner', until: null }]]]),
    } as Caller;
    const isMissing = (error: unknown) => error instanceof Failure && error.code === 'NOT_FOUND';
    const find = async (caller: Caller, organization_id: string, vaultId: string) =>
      guard.found(await guard.admit(caller, 'secrets:write'), { organization_id }, vaultId);
    for (const caller of [all, some]) {
      assert.deepEqual(await find(caller, 'one', 'v1'), { organization_id: 'one' });
      await assert.rejects(find(caller, 'another', 'v1'), isMissing);
    }
    await assert.rejects(find(some, 'one', 'v2'), isMissing);
  });

  const root = fileURLToPath(new URL('..', import.meta.url));
  const filesWith = (text: RegExp) =>
    globSync('src/**/*.ts', { cwd: root })
      .filter(file => text.test(readFileSync(`${root}/${file}`, 'utf8')))
      .sort();

  it('the guard alone writes audit entries', () => {
    assert.deepEqual(filesWith(/\bledger\s*\.commit\(/), ['src/domain/kernel/guard.ts']);
    assert.deepEqual(filesWith(/\brefusals\.denial\(/), ['src/domain/kernel/guard.ts']);
    assert.deepEqual(
      filesWith(/\bAuditEntry\b/).filter(file => !file.startsWith('src/logs/')),
      // A backup's restoring reads what a newer log tells.
      ['src/backup/lost-changes.ts', 'src/domain/kernel/audit-entries.ts', 'src/domain/kernel/guard.ts'],
    );
    assert.deepEqual(filesWith(/from '.*\/audit-entries\.ts'/), ['src/domain/kernel/guard.ts']);
  });

  it('the guard alone says that somebody may do something', () => {
    assert.deepEqual(filesWith(/\bas (unknown as )?(Permit|Allowed)\b/), ['src/domain/kernel/guard.ts']);
  });
});
