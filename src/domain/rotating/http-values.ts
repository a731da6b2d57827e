/**
 * Values that a service creates when it is called: create, try, use, and delete the previous one. A creation whose answer
 * was lost is made again, with the same `idempotency-key` if the use rule allows that header.
 */
import type { RotationBy } from '../../contract/rotations.ts';
import type { RotationCalls } from './calls.ts';
import { type Method, nothingMade } from './methods.ts';

type Http = Extract<RotationBy, { kind: 'http' }>;

export function httpValuesWith(calls: RotationCalls): Method<Http> {
  return {
    draft: () => nothingMade,

    async create(task) {
      const { value: pointer, id, ...call } = task.by.create;
      return { ...nothingMade, ...(await calls.created(task, call, { value: pointer, id })) };
    },

    async tryOut(task, { value }) {
      if (task.by.try !== undefined) await calls.accepted(task, task.by.try, value!);
    },

    async remove(task, gone) {
      const { create, delete: call } = task.by;
      if (call === undefined) return;
      // One that was not created by a rotation has no known id.
      if (create.id !== undefined && gone.remoteId === null) return;
      const value = create.id === undefined ? gone.value : task.current;
      if (value !== null) await calls.deleted(task, call, value, gone.remoteId);
    },
  };
}
