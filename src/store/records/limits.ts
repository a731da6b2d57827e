/** Counts requests in windows of a minute, exactly, across all replicas. */
import { sql } from 'kysely';
import { type Engine, statement } from '../engine/engine.ts';
import { prepared } from '../engine/prepared.ts';

export function limits({ db, commit }: Engine) {
  const add = prepared<{ subjectId: string; windowStart: number; requests: number }>(
    ({ subjectId, windowStart, requests }) =>
      db
        .insertInto('rate_windows')
        .values({ subject_id: subjectId, window_start: windowStart, count: requests })
        .onConflict(on =>
          on
            .columns(['subject_id', 'window_start'])
            .doUpdateSet({ count: sql`rate_windows.count + excluded.count` }),
        )
        .returning('count'),
    { returning: true },
  );

  return {
    /** Counts requests of a subject in a window. Returns the new total. */
    async take(subjectId: string, windowStart: number, requests: number): Promise<number> {
      const [rows] = await commit([{ statements: [add({ subjectId, windowStart, requests })] }]);
      return Number(rows![0]![0]!.count);
    },

    /** The number counted, across all replicas. */
    async taken(subjectId: string, windowStart: number): Promise<number> {
      const found = db
        .selectFrom('rate_windows')
        .select('count')
        .where('subject_id', '=', subjectId)
        .where('window_start', '=', windowStart);
      return (await found.executeTakeFirst())?.count ?? 0;
    },

    async forget(before: number): Promise<void> {
      const remove = db.deleteFrom('rate_windows').where('window_start', '<', before);
      await commit([{ statements: [statement(remove)] }]);
    },
  };
}
