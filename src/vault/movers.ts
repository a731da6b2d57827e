/** How each kind of row is moved from an older term to the one in use: believed, sealed anew, and revised once. */
import type { Caller } from '../access/caller.ts';
import type { AccountRow } from '../store/accounts.ts';
import type { TermHolder } from '../store/terms.ts';
import type { WebhookRow } from '../store/webhooks.ts';
import { seedPlace } from './accounts/codes.ts';
import { accountSubject } from './accounts/people.ts';
import type { Parts } from './parts.ts';
import { subjectOf } from './subject.ts';
import { secretPlace, webhookChange } from './webhooks.ts';

/** Moves one row, unless it is gone or was moved already. */
export type Movers = Readonly<Record<TermHolder, (operator: Caller, id: string) => Promise<void>>>;

export function moversWith({ store, keyring, stamps, guard, terms }: Parts): Movers {
  const reseal =
    (row: WebhookRow | AccountRow, place: Parameters<typeof keyring.resealForOrganization>[1]) =>
    (sealed: Uint8Array | null) =>
      sealed && (keyring.resealForOrganization(row.organization_id, place, sealed) ?? sealed);

  const isMoved = (...sealed: readonly (Uint8Array | null)[]) =>
    sealed.every(bytes => bytes === null || keyring.isCurrent(bytes));

  return {
    async vault(operator, id) {
      const found = await store.resources.byId(operator.organizationId, id);
      if (found === undefined) return;
      const before = stamps.resource.believe(found);
      const hold = await terms.hold();
      const place = { organization: before.organization_id, vault: id };
      const vault_key = keyring.rewrapVaultKey(place, before.vault_key!);
      if (vault_key === null) return;
      const row = stamps.resource.revise(before, { vault_key }, before.updated_at);
      await guard.change(operator, 'vaults:write', 'vault.key_rewrapped', {
        subjects: [{ ...subjectOf(row), details: { term: keyring.term } }],
        statements: [hold, store.resources.update(row)],
        touches: [id],
      });
    },

    async webhook(operator, id) {
      const found = await store.webhooks.byId(operator.organizationId, id);
      if (found === undefined) return;
      const before = stamps.webhook.believe(found);
      if (isMoved(before.secret, before.previous_secret)) return;
      const hold = await terms.hold();
      const { secret_version: version } = before;
      const columns = {
        secret: reseal(before, secretPlace(id, version))(before.secret)!,
        previous_secret: reseal(before, secretPlace(id, version - 1))(before.previous_secret),
      };
      const row = stamps.webhook.revise(before, columns, before.updated_at);
      await guard.change(operator, 'webhooks:write', 'webhook.secret_rewrapped', {
        subjects: [{ ...webhookChange(row), details: { term: keyring.term } }],
        statements: [hold, store.webhooks.update(row)],
        touches: [id],
      });
    },

    async account(operator, id) {
      const found = await store.accounts.account(id);
      if (found === undefined) return;
      const before = stamps.account.believe(found);
      if (isMoved(before.totp, before.totp_pending)) return;
      const hold = await terms.hold();
      const moved = reseal(before, seedPlace(before));
      const columns = { totp: moved(before.totp), totp_pending: moved(before.totp_pending) };
      const row = stamps.account.revise(before, columns, before.updated_at);
      const member = await store.accounts.member(row.member_id);
      await guard.own(operator, 'account.codes_rewrapped', {
        subjects: [{ ...accountSubject(row, member?.email ?? ''), details: { term: keyring.term } }],
        statements: [hold, store.accounts.updateAccount(row)],
        touches: [row.member_id],
      });
    },
  };
}
