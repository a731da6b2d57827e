/** Cached answers to vault reads, sealed, so that a restarted service need not open every secret again. */
import type { Selectable } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { preparedRead } from '../engine/prepared.ts';
import type { KeptAnswerTable } from '../schema/schema.ts';

export type KeptAnswerRow = Selectable<KeptAnswerTable>;

export function keptAnswers({ db, commit }: Engine) {
  /** No request waits for these writes, so they join a sync that is needed anyway. */
  const whenever = (statements: readonly Statement[]) =>
    commit([{ statements, independent: true }], { patience: 1_000 });

  const found = preparedRead(db, ({ vaultId, answer }: { vaultId: string; answer: string }) =>
    db.selectFrom('kept_answers').selectAll().where('vault_id', '=', vaultId).where('answer', '=', answer),
  );

  return {
    find: async (vaultId: string, answer: string): Promise<KeptAnswerRow | undefined> =>
      (await found({ vaultId, answer }))[0],

    async keep(rows: readonly KeptAnswerRow[]): Promise<void> {
      const keeping = rows.map(row =>
        db
          .insertInto('kept_answers')
          .values(row)
          .onConflict(on =>
            on.columns(['vault_id', 'answer']).doUpdateSet({ sealed: row.sealed, read_at: row.read_at }),
          ),
      );
      await whenever(keeping.map(query => statement(query)));
    },

    async noteReads(vaultIds: readonly string[], moment: number): Promise<void> {
      if (vaultIds.length === 0) return;
      const note = db.updateTable('kept_answers').set({ read_at: moment }).where('vault_id', 'in', vaultIds);
      await whenever([statement(note)]);
    },

    /** Deletes answers not read since `before`, and keeps at most `most` of the others, those read last. */
    async forget(before: number, most: number): Promise<void> {
      const old = db.deleteFrom('kept_answers').where('read_at', '<', before);
      const surplus = db
        .selectFrom('kept_answers')
        .select('read_at')
        .orderBy('read_at', 'desc')
        .limit(1)
        .offset(most);
      const many = db.deleteFrom('kept_answers').where('read_at', '<=', surplus);
      await whenever([statement(old), statement(many)]);
    },

    /** A purged resource must not remain in a stored answer. */
    drop: (vaultId: string): Statement =>
      statement(db.deleteFrom('kept_answers').where('vault_id', '=', vaultId)),
  };
}
