/** Sessions of the tool endpoint: a digest, what was agreed at the start, and the credential that opened it. */
import type { Selectable } from 'kysely';
import { type Engine, statement } from '../engine/engine.ts';
import type { McpSessionTable } from '../schema/schema.ts';

export type ToolSessionRow = Selectable<McpSessionTable>;

export function toolSessions({ db, commit }: Engine) {
  return {
    byId: (id: string): Promise<ToolSessionRow | undefined> =>
      db.selectFrom('mcp_sessions').selectAll().where('id', '=', id).executeTakeFirst(),

    async add(row: ToolSessionRow): Promise<void> {
      await commit([{ statements: [statement(db.insertInto('mcp_sessions').values(row))] }]);
    },

    async noteUse({ id, used_at, stamp }: ToolSessionRow): Promise<void> {
      const note = db.updateTable('mcp_sessions').set({ used_at, stamp }).where('id', '=', id);
      await commit([{ statements: [statement(note)] }]);
    },

    async end(id: string): Promise<void> {
      const end = db.deleteFrom('mcp_sessions').where('id', '=', id);
      await commit([{ statements: [statement(end)], touches: [id] }]);
    },

    /**
     * Deletes sessions idle since before `idleSince`. Of the sessions without a credential that were never used again,
     * keeps the newest `unused`.
     */
    async forget(idleSince: number, unused: number): Promise<void> {
      const newest = db
        .selectFrom('mcp_sessions')
        .select('id')
        .where('credential_id', 'is', null)
        .whereRef('used_at', '=', 'created_at')
        .orderBy('id', 'desc')
        .limit(unused);
      const idle = db.deleteFrom('mcp_sessions').where('used_at', '<', idleSince);
      const surplus = db
        .deleteFrom('mcp_sessions')
        .where('credential_id', 'is', null)
        .whereRef('used_at', '=', 'created_at')
        .where('id', 'not in', newest);
      await commit([{ statements: [statement(idle), statement(surplus)] }]);
    },
  };
}
