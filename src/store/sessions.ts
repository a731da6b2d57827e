/** Sessions of the tool endpoint: a digest, what was agreed at the start, and whose session it became. */
import type { Selectable } from 'kysely';
import { type Engine, statement, UnitsRefused } from './engine.ts';
import type { McpSessionTable } from './schema.ts';

export type SessionRow = Selectable<McpSessionTable>;

export function sessions({ db, commit }: Engine) {
  return {
    byId: (id: string): Promise<SessionRow | undefined> =>
      db.selectFrom('mcp_sessions').selectAll().where('id', '=', id).executeTakeFirst(),

    async add(row: SessionRow): Promise<void> {
      await commit([{ statements: [statement(db.insertInto('mcp_sessions').values(row))] }]);
    },

    /** Makes the session a credential's own, unless it is another's by now. */
    async claim(id: string, credentialId: string): Promise<boolean> {
      const claim = db
        .updateTable('mcp_sessions')
        .set({ credential_id: credentialId })
        .where('id', '=', id)
        .where('credential_id', 'is', null);
      try {
        await commit([{ statements: [statement(claim, { expect: 1 })], touches: [id] }]);
        return true;
      } catch (error) {
        if (error instanceof UnitsRefused) return false;
        throw error;
      }
    },

    async noteUse(id: string, usedAt: number): Promise<void> {
      const note = db.updateTable('mcp_sessions').set({ used_at: usedAt }).where('id', '=', id);
      await commit([{ statements: [statement(note)] }]);
    },

    async end(id: string): Promise<void> {
      const end = db.deleteFrom('mcp_sessions').where('id', '=', id);
      await commit([{ statements: [statement(end)], touches: [id] }]);
    },

    /** Those idle since before a moment go; of those that nobody called a tool with, so many of the newest stay. */
    async forget(idleSince: number, unclaimed: number): Promise<void> {
      const newest = db
        .selectFrom('mcp_sessions')
        .select('id')
        .where('credential_id', 'is', null)
        .orderBy('id', 'desc')
        .limit(unclaimed);
      const idle = db.deleteFrom('mcp_sessions').where('used_at', '<', idleSince);
      const surplus = db
        .deleteFrom('mcp_sessions')
        .where('credential_id', 'is', null)
        .where('id', 'not in', newest);
      await commit([{ statements: [statement(idle), statement(surplus)] }]);
    },
  };
}
