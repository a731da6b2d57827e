/**
 * Challenges for passkeys. A challenge proves by itself that this service created it, for which purpose and until
 * when, so nothing is stored when one is requested. It is recorded when it is used, and can't be used again.
 */
import { equalBytes } from '../../keyring/keyring.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Parts } from '../kernel/parts.ts';

const lifetime = 5 * 60_000;
const timeSize = 6;
const randomSize = 16;
const headSize = timeSize + randomSize;
const markSize = 16;

export type Challenges = ReturnType<typeof challengesWith>;

interface ChallengeParts extends Pick<Parts, 'store' | 'keyring' | 'now'> {
  readonly random: (size: number) => Uint8Array;
}

export function challengesWith({ store, keyring, now, random }: ChallengeParts) {
  const markOf = (purpose: string, head: Uint8Array) =>
    keyring.stamp('challenge', [purpose, head]).subarray(0, markSize);

  return {
    issue: (purpose: string): Buffer => {
      const time = Buffer.alloc(timeSize);
      time.writeUIntBE(now() + lifetime, 0, timeSize);
      const head = Buffer.concat([time, random(randomSize)]);
      return Buffer.concat([head, markOf(purpose, head)]);
    },

    holds: (purpose: string, challenge: string): boolean => {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== headSize + markSize) return false;
      const head = bytes.subarray(0, headSize);
      return equalBytes(markOf(purpose, head), bytes.subarray(headSize)) && now() < expiryOf(bytes);
    },

    /** Makes a valid challenge unusable, in the same transaction as the change it is used for. */
    use: (challenge: string): Statement[] => {
      const bytes = Buffer.from(challenge, 'base64url');
      return store.accounts.spendChallenge(bytes.toString('base64url'), expiryOf(bytes), now());
    },
  };
}

function expiryOf(bytes: Buffer): number {
  return bytes.readUIntBE(0, timeSize);
}
