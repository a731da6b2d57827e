/**
 * Challenges for passkeys. One proves by itself that we made it, for which purpose and until when, so nothing is
 * stored for whoever only asks for one; it is written down when it is used, and is never good again.
 */
import { equalBytes, type Keyring } from '../../keyring/keyring.ts';
import type { Statement } from '../../store/engine/engine.ts';
import type { Store } from '../../store/store.ts';

const lifetime = 5 * 60_000;
const timeSize = 6;
const randomSize = 16;
const headSize = timeSize + randomSize;
const markSize = 16;

export interface Challenges {
  issue(purpose: string): Buffer;
  holds(purpose: string, challenge: string): boolean;
  /** Makes a challenge that held unusable, in the same step as what it is used for. */
  use(challenge: string): Statement[];
}

export interface ChallengeParts {
  readonly store: Store;
  readonly keyring: Keyring;
  readonly now: () => number;
  readonly random: (size: number) => Uint8Array;
}

export function challengesWith({ store, keyring, now, random }: ChallengeParts): Challenges {
  const markOf = (purpose: string, head: Uint8Array) =>
    keyring.stamp('challenge', [purpose, head]).subarray(0, markSize);

  return {
    issue: purpose => {
      const time = Buffer.alloc(timeSize);
      time.writeUIntBE(now() + lifetime, 0, timeSize);
      const head = Buffer.concat([time, random(randomSize)]);
      return Buffer.concat([head, markOf(purpose, head)]);
    },

    holds: (purpose, challenge) => {
      const bytes = Buffer.from(challenge, 'base64url');
      if (bytes.length !== headSize + markSize) return false;
      const head = bytes.subarray(0, headSize);
      return equalBytes(markOf(purpose, head), bytes.subarray(headSize)) && now() < expiryOf(bytes);
    },

    use: challenge => {
      const bytes = Buffer.from(challenge, 'base64url');
      return store.accounts.spendChallenge(bytes.toString('base64url'), expiryOf(bytes), now());
    },
  };
}

function expiryOf(bytes: Buffer): number {
  return bytes.readUIntBE(0, timeSize);
}
