/** Requests counted in windows of a minute, exactly, over all replicas. */
import { sql } from 'kysely';
import { type Engine, statement } from './engine.ts';

export function limits({ db, commit }: Engine) {
  return {
    /** Counts requests of a subject in a window, and says how many there are now. */
    async take(subjectId: string, windowStart: number, requests: number): Promise<number> {
      const upsert = db
        .insertInto('rate_windows')
        .values({ subject_id: subjectId, window_start: windowStart, count: requests })
        .onConflict(on =>
          on
            .columns(['subject_id', 'window_start'])
            .doUpdateSet({ count: sql`rate_windows.count + ${requests}` }),
        )
        .returning('count');
      const [rows] = await commit([{ statements: [statement(upsert, { returning: true })] }]);
      return Number(rows![0]![0]!.count);
    },

    async forget(before: number): Promise<void> {
      const remove = db.deleteFrom('rate_windows').where('window_start', '<', before);
      await commit([{ statements: [statement(remove)] }]);
    },
  };
}
