/** The server's timeline on which the log is written, to detect a change of timeline. */
import { publicBytes } from '../../base/bytes.ts';
import { type Engine, type Statement, statement, type Timeline } from '../engine/engine.ts';

const key = 'timeline';
const encoded = ({ cluster, number }: Timeline) => publicBytes(Buffer.from(`${cluster} ${number}`));

export function timelines({ db, commit }: Engine) {
  return {
    async read(): Promise<Timeline | null> {
      const found = await db.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst();
      if (found === undefined) return null;
      const [cluster = '', number] = Buffer.from(found.value).toString().split(' ');
      return { cluster, number: Number(number) };
    },

    async set(timeline: Timeline): Promise<void> {
      const value = encoded(timeline);
      const insert = db
        .insertInto('meta')
        .values({ key, value })
        .onConflict(on => on.column('key').doUpdateSet({ value }));
      await commit([{ statements: [statement(insert)] }]);
    },

    /** Refused as stale if another replica was first. */
    replace: (before: Timeline, after: Timeline): Statement =>
      statement(
        db
          .updateTable('meta')
          .set({ value: encoded(after) })
          .where('key', '=', key)
          .where('value', '=', encoded(before)),
        { expect: 1 },
      ),
  };
}
