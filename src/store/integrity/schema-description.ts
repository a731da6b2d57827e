/**
 * Describes a database's schema: our tables and everything attached to them, each as a key and a text. On PostgreSQL
 * this includes functions and operators that could shadow built-in ones, and settings of the database and the role that
 * apply to every session. Other tables are left out. All functions are qualified with their schema, and operands have
 * the types of built-in operators, so that no object in our own schema can take their place.
 */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { AnySchema, EngineName } from '../migrations/migrations.ts';
import type { Described } from './schema-difference.ts';
import { concerning, type FileRow, fileQuery } from './sqlite-schema.ts';

/** Our functions. Others count only if they have the name of a built-in one. */
const functions = ['next_position'];
/** Operators of pg_trgm, which the index of names needs. They share the names of built-in ones. */
const trigramOperators = ['%', '<->'];

export async function describe(
  db: Kysely<AnySchema>,
  engine: EngineName,
  tables: readonly string[],
): Promise<readonly Described[]> {
  if (engine === 'postgres') return (await inCatalogue(tables).execute(db)).rows;
  return concerning(tables, (await sql.raw<FileRow>(fileQuery).execute(db)).rows);
}

const inCatalogue = (tables: readonly string[]): RawBuilder<Described> => sql`
  WITH ours AS (SELECT c.* FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = pg_catalog.current_schema() AND c.relname = ANY (${tables}::name[])),
  own_schema AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = pg_catalog.current_schema()),
  built_in AS (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'pg_catalog')
  SELECT 'table ' || relname::text AS key, pg_catalog.concat_ws(' ', relkind::text, relpersistence::text,
      CASE WHEN relrowsecurity THEN 'row security' END, CASE WHEN relforcerowsecurity THEN 'forced' END,
      CASE WHEN relispartition THEN 'partition' END) AS text FROM ours
  UNION ALL SELECT t.relname::text || '.' || a.attname::text, pg_catalog.concat_ws(' ',
      pg_catalog.format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END,
      nullif(a.attidentity::text, ''), nullif(a.attgenerated::text, ''), pg_catalog.pg_get_expr(d.adbin, d.adrelid),
      CASE WHEN a.attcollation <> y.typcollation THEN a.attcollation::pg_catalog.regcollation::text END)
    FROM ours t JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid
    JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
    LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attnum > 0 AND NOT a.attisdropped AND t.relkind = 'r'
  UNION ALL SELECT 'constraint ' || k.conname::text, pg_catalog.concat_ws(' ', k.conrelid::pg_catalog.regclass::text,
      pg_catalog.pg_get_constraintdef(k.oid), CASE WHEN NOT k.convalidated THEN 'not validated' END)
    FROM pg_catalog.pg_constraint k WHERE k.contype <> 'n'
      AND (k.conrelid IN (SELECT oid FROM ours) OR k.confrelid IN (SELECT oid FROM ours))
  UNION ALL SELECT 'index ' || c.relname::text, pg_catalog.concat_ws(' ',
      pg_catalog.pg_get_indexdef(i.indexrelid, 0, true),
      CASE WHEN NOT (i.indisvalid AND i.indisready AND i.indislive) THEN 'not valid' END)
    FROM ours t JOIN pg_catalog.pg_index i ON i.indrelid = t.oid
    JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid
  UNION ALL SELECT CASE WHEN g.tgisinternal
      THEN 'trigger ' || t.relname::text || '.' || k.conname::text || '.' || p.proname::text
      ELSE 'trigger ' || t.relname::text || '.' || g.tgname::text END, g.tgenabled::text
    FROM ours t JOIN pg_catalog.pg_trigger g ON g.tgrelid = t.oid
    JOIN pg_catalog.pg_proc p ON p.oid = g.tgfoid
    LEFT JOIN pg_catalog.pg_constraint k ON k.oid = g.tgconstraint
  UNION ALL SELECT 'rule ' || t.relname::text || '.' || r.rulename::text, ''
    FROM ours t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid
  UNION ALL SELECT 'policy ' || t.relname::text || '.' || p.polname::text, ''
    FROM ours t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid
  UNION ALL SELECT 'inheritance ' || i.inhrelid::pg_catalog.regclass::text || ' of ' || i.inhparent::pg_catalog.regclass::text, ''
    FROM pg_catalog.pg_inherits i
    WHERE i.inhparent IN (SELECT oid FROM ours) OR i.inhrelid IN (SELECT oid FROM ours)
  UNION ALL SELECT 'function ' || p.proname::text || '(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')',
      pg_catalog.concat_ws(' ', l.lanname::text, p.prokind::text, p.provolatile::text,
        CASE WHEN p.prosecdef THEN 'security definer' END, CASE WHEN p.proisstrict THEN 'strict' END,
        pg_catalog.format_type(p.prorettype, NULL), p.proconfig::text, p.prosrc)
    FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_language l ON l.oid = p.prolang
    WHERE p.pronamespace IN (SELECT oid FROM own_schema) AND (p.proname = ANY (${functions}::name[])
      OR p.proname IN (SELECT b.proname FROM pg_catalog.pg_proc b WHERE b.pronamespace IN (SELECT oid FROM built_in)))
  UNION ALL SELECT 'operator ' || o.oprname::text || '(' || pg_catalog.format_type(o.oprleft, NULL) || ', '
      || pg_catalog.format_type(o.oprright, NULL) || ')', ''
    FROM pg_catalog.pg_operator o WHERE o.oprnamespace IN (SELECT oid FROM own_schema)
      AND o.oprname <> ALL (${trigramOperators}::name[]) AND o.oprname IN
      (SELECT b.oprname FROM pg_catalog.pg_operator b WHERE b.oprnamespace IN (SELECT oid FROM built_in))
  UNION ALL SELECT 'setting ' || s.name, pg_catalog.quote_ident(pg_catalog.current_schema()::text) FROM (
      SELECT pg_catalog.unnest(r.setconfig) AS name FROM pg_catalog.pg_db_role_setting r
      WHERE r.setdatabase IN (SELECT 0::oid UNION ALL
          SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database())
        AND r.setrole IN (SELECT 0::oid UNION ALL
          SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user OR rolname = session_user)) s`;
