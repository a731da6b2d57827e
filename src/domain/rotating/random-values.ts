/** Random values. If the plan names a call, the service that it leads to must accept the new value before it is used. */
import { randomInt } from 'node:crypto';
import type { RotationBy } from '../../contract/rotations.ts';
import type { RotationCalls } from './calls.ts';
import { type Method, nothingMade } from './methods.ts';

type Random = Extract<RotationBy, { kind: 'random' }>;

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

export function randomValuesWith(calls: RotationCalls): Method<Random> {
  return {
    draft: ({ by }) => ({ ...nothingMade, value: randomText(by) }),
    create: async (_, draft) => draft,
    tryOut: async (task, { value }) => {
      if (task.by.confirm !== undefined) await calls.accepted(task, task.by.confirm, value!);
    },
    remove: async () => {},
  };
}

function randomText({ length, alphabet = lettersAndDigits }: Random): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('');
}
