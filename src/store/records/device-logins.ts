/** CLI sign-ins: digests of their codes, the client's description of itself, and who approved them. */
import type { Selectable } from 'kysely';
import { type Engine, isStored, type Statement, statement } from '../engine/engine.ts';
import { countOf } from '../engine/page.ts';
import type { DeviceLoginTable } from '../schema/schema.ts';

export type DeviceLoginRow = Selectable<DeviceLoginTable>;

export function deviceLogins({ db, commit }: Engine) {
  const rows = () => db.selectFrom('device_logins').selectAll();

  return {
    byId: (id: string): Promise<DeviceLoginRow | undefined> => rows().where('id', '=', id).executeTakeFirst(),

    byUserCode: (userCode: string): Promise<DeviceLoginRow | undefined> =>
      rows().where('user_code', '=', userCode).executeTakeFirst(),

    waiting: (now: number): Promise<number> => countOf(rows().where('expires_at', '>', now)),

    /** Adds a sign-in and deletes expired ones. Returns false if the code is in use. */
    async add(row: DeviceLoginRow): Promise<boolean> {
      const over = db.deleteFrom('device_logins').where('expires_at', '<=', row.created_at);
      const insert = db.insertInto('device_logins').values(row);
      return isStored(commit([{ statements: [statement(over), statement(insert)] }]));
    },

    /** Refused as stale if another decision came first. */
    decide: (before: DeviceLoginRow, { state, approval, stamp }: DeviceLoginRow): Statement =>
      statement(
        db
          .updateTable('device_logins')
          .set({ state, approval, stamp })
          .where('id', '=', before.id)
          .where('stamp', '=', before.stamp),
        { expect: 1 },
      ),

    /** Refused as stale if it no longer exists. */
    remove: ({ id, stamp }: DeviceLoginRow): Statement =>
      statement(db.deleteFrom('device_logins').where('id', '=', id).where('stamp', '=', stamp), {
        expect: 1,
      }),
  };
}
