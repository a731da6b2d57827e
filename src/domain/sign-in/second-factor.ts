/** The second factor of one account: its sealed seed, the last code that was used, its recovery codes. */
import type { Sealed } from '../../base/bytes.ts';
import type { AccountRow } from '../../store/records/accounts.ts';
import type { Parts } from '../kernel/parts.ts';
import { looksLikeRecoveryCode, makeRecoveryCodes, seedSize, stepOf } from './totp.ts';

export type SecondFactor = ReturnType<typeof secondFactorWith>;

interface SecondFactorParts extends Pick<Parts, 'keyring' | 'stamps' | 'keyringSync' | 'now'> {
  readonly random: (size: number) => Uint8Array;
}

export function secondFactorWith({ keyring, stamps, keyringSync, now, random }: SecondFactorParts) {
  const digestOf = (account: AccountRow, code: string) =>
    Buffer.from(keyring.tokenDigest(`recovery ${account.id} ${code}`)).toString('base64url');

  async function openSeed(account: AccountRow, sealed: Sealed): Promise<Buffer> {
    await keyringSync.ensureKeysFor(sealed);
    return keyring.organizationSealer(account.organization_id).open(seedPlace(account), sealed);
  }

  function takeRecovery(account: AccountRow, code: string): AccountRow | null {
    const left = JSON.parse(account.recovery) as string[];
    const rest = left.filter(digest => digest !== digestOf(account, code));
    if (rest.length === left.length) return null;
    return stamps.account.revise(account, { recovery: JSON.stringify(rest) }, now());
  }

  return {
    openSeed,

    /** The account after the code was used, or null if the code is wrong or already used. */
    take: async (account: AccountRow, code: string): Promise<AccountRow | null> => {
      if (looksLikeRecoveryCode(code)) return takeRecovery(account, code);
      const step = stepOf(await openSeed(account, account.totp!), code, now(), account.totp_step);
      return step === null ? null : stamps.account.revise(account, { totp_step: step }, now());
    },

    newSeed: (account: AccountRow): { readonly seed: Uint8Array; readonly sealed: Sealed } => {
      const seed = random(seedSize);
      return {
        seed,
        sealed: keyring.organizationSealer(account.organization_id).seal(seedPlace(account), seed),
      };
    },

    newRecoveryCodes: (account: AccountRow): { readonly codes: string[]; readonly digests: string } => {
      const codes = makeRecoveryCodes(random);
      return { codes, digests: JSON.stringify(codes.map(code => digestOf(account, code))) };
    },
  };
}

export function seedPlace(account: Pick<AccountRow, 'id'>) {
  return { type: 'account', resource: account.id, field: 'totp', version: 1 };
}
