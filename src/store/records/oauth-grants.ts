/**
 * Grants that people gave to OAuth clients of the tool endpoint: digests of codes and refresh tokens, never the tokens.
 */
import type { Selectable } from 'kysely';
import { type Engine, type Statement, statement } from '../engine/engine.ts';
import { type Audited, auditedRevision } from '../integrity/audited.ts';
import { removeRevised, updateRevised } from '../integrity/revisions.ts';
import type { OAuthGrantTable } from '../schema/schema.ts';

export type OAuthGrantRow = Selectable<OAuthGrantTable>;
type AuditedOAuthGrant = OAuthGrantRow & Audited;

export function oauthGrants({ db, commit }: Engine) {
  const audited = () => db.selectFrom('oauth_grants').selectAll('oauth_grants').select(auditedRevision());

  return {
    byId: (id: string): Promise<AuditedOAuthGrant | undefined> =>
      audited().where('id', '=', id).executeTakeFirst(),

    /** Newest first. */
    ofMember: (memberId: string): Promise<AuditedOAuthGrant[]> =>
      audited().where('member_id', '=', memberId).orderBy('id', 'desc').execute(),

    insert: (row: OAuthGrantRow): Statement => statement(db.insertInto('oauth_grants').values(row)),

    update: (row: OAuthGrantRow): Statement => updateRevised(db, 'oauth_grants', row),

    /** Refused as stale if it has changed. */
    remove: (id: string, revision: number): Statement => removeRevised(db, 'oauth_grants', { id, revision }),

    /** Deletes grants that ended, and those whose code was never exchanged. Returns how many. */
    async forget(endedBefore: number, limit: number): Promise<number> {
      const over = db
        .selectFrom('oauth_grants')
        .select('id')
        .where(({ eb, or, and }) =>
          or([
            eb('expires_at', '<', endedBefore),
            and([eb('refresh', 'is', null), eb('code_expires_at', '<', endedBefore)]),
          ]),
        )
        .limit(limit);
      const remove = db.deleteFrom('oauth_grants').where('id', 'in', over).returning('id');
      const [rows] = await commit([{ statements: [statement(remove, { returning: true })] }]);
      return rows![0]!.length;
    },
  };
}
