/** Moves each kind of row from an older term to the current one: it is verified, sealed again and revised once. */
import type { Caller } from '../../access/caller.ts';
import type { Sealed } from '../../base/bytes.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { TermHolder } from '../../store/records/keyring.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';
import type { Parts } from '../kernel/parts.ts';
import { accountSubject } from '../people/people.ts';
import { subjectOf } from '../resources/subject.ts';
import { seedPlace } from '../sign-in/second-factor.ts';
import { secretPlace, webhookChange } from '../webhooks/webhooks.ts';

/** Moves one row, unless it no longer exists or was already moved. */
export type Rewrappers = Readonly<Record<TermHolder, (operator: Caller, id: string) => Promise<void>>>;

export function rewrappersWith({ store, keyring, stamps, guard, keyringSync }: Parts): Rewrappers {
  const reseal =
    (row: WebhookRow | AccountRow, place: Parameters<typeof keyring.resealForOrganization>[1]) =>
    (sealed: Sealed | null) =>
      sealed && (keyring.resealForOrganization(row.organization_id, place, sealed) ?? sealed);

  const isMoved = (...sealed: readonly (Sealed | null)[]) =>
    sealed.every(bytes => bytes === null || keyring.isCurrent(bytes));

  return {
    async vault(operator, id) {
      const stored = await store.resources.byId(operator.organizationId, id);
      if (stored === undefined) return;
      const permit = await guard.admit(operator, 'vaults:write');
      const before = stamps.resource.believe(await guard.found(permit, stored, stored.vault_id));
      const keyringCurrent = await keyringSync.requireCurrent();
      const place = { organization: before.organization_id, vault: id };
      const vault_key = keyring.rewrapVaultKey(place, before.vault_key!);
      if (vault_key === null) return;
      const row = stamps.resource.revise(before, { vault_key }, before.updated_at);
      await guard.change(permit, 'vault.key_rewrapped', {
        subjects: [{ ...subjectOf(row), details: { term: keyring.term } }],
        statements: [keyringCurrent, store.resources.update(row)],
        touches: [id],
      });
    },

    async webhook(operator, id) {
      const stored = await store.webhooks.byId(operator.organizationId, id);
      if (stored === undefined) return;
      const permit = await guard.admit(operator, 'webhooks:write');
      const before = stamps.webhook.believe(await guard.found(permit, stored));
      if (isMoved(before.secret, before.previous_secret)) return;
      const keyringCurrent = await keyringSync.requireCurrent();
      const { secret_version: version } = before;
      const columns = {
        secret: reseal(before, secretPlace(id, version))(before.secret)!,
        previous_secret: reseal(before, secretPlace(id, version - 1))(before.previous_secret),
      };
      const row = stamps.webhook.revise(before, columns, before.updated_at);
      await guard.change(permit, 'webhook.secret_rewrapped', {
        subjects: [{ ...webhookChange(row), details: { term: keyring.term } }],
        statements: [keyringCurrent, store.webhooks.update(row)],
        touches: [id],
      });
    },

    async account(operator, id) {
      const found = await store.accounts.account(id);
      if (found === undefined) return;
      const before = stamps.account.believe(found);
      if (isMoved(before.totp, before.totp_pending)) return;
      const keyringCurrent = await keyringSync.requireCurrent();
      const moved = reseal(before, seedPlace(before));
      const columns = { totp: moved(before.totp), totp_pending: moved(before.totp_pending) };
      const row = stamps.account.revise(before, columns, before.updated_at);
      const member = await store.accounts.member(row.member_id);
      await guard.own(operator, 'account.codes_rewrapped', {
        subjects: [{ ...accountSubject(row, member?.email ?? ''), details: { term: keyring.term } }],
        statements: [keyringCurrent, store.accounts.updateAccount(row)],
        touches: [row.member_id],
      });
    },
  };
}
