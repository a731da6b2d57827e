/**
 * Decides which rows are trusted. A row's stamp covers every column that matters for a decision (`stamp-columns.ts`),
 * so that an edit in the database is detected. Its revision must also be the newest one in the audit log: with the
 * stamp alone, someone could put back an older valid row. A row that isn't trusted is an error, never an answer.
 */
import type { Stamp } from '../../base/bytes.ts';
import { Failure } from '../../contract/errors.ts';
import type { Keyring, StampField } from '../../keyring/keyring.ts';
import type { Audited } from '../../store/integrity/audited.ts';
import { columns } from '../../store/integrity/stamp-columns.ts';
import {
  type Later,
  type OnceStamped,
  oldestBeside,
  type Treatment,
} from '../../store/integrity/stamp-treatments.ts';
import type {
  AccountRow,
  DashboardSessionRow,
  LockOutRow,
  PasskeyRow,
} from '../../store/records/accounts.ts';
import type { AcmeAccountRow, AcmeOrderRow } from '../../store/records/acme.ts';
import type { ApprovalRow } from '../../store/records/approvals.ts';
import type { AuthorityRow, IssuedCertificateRow, ProfileRow } from '../../store/records/authorities.ts';
import type { CredentialRow } from '../../store/records/credentials.ts';
import type { DeviceLoginRow } from '../../store/records/device-logins.ts';
import type { IdentityRow } from '../../store/records/identities.ts';
import type { IssuerRow, LeaseRow } from '../../store/records/leases.ts';
import type { MemberGroupRow } from '../../store/records/member-groups.ts';
import type { OAuthGrantRow } from '../../store/records/oauth-grants.ts';
import type { MemberRow, OrganizationRow } from '../../store/records/organizations.ts';
import type { EventRow } from '../../store/records/outbox.ts';
import type { ProposalRow } from '../../store/records/proposals.ts';
import type { ResourceRow, VersionRow } from '../../store/records/resources.ts';
import type { RoleRequestRow } from '../../store/records/role-requests.ts';
import type { RotationRow } from '../../store/records/rotations.ts';
import type { RunRow } from '../../store/records/runs.ts';
import type { StageRow } from '../../store/records/stages.ts';
import type { ToolSessionRow } from '../../store/records/tool-sessions.ts';
import type { UseRuleRow } from '../../store/records/use-rules.ts';
import type { WebhookRow } from '../../store/records/webhooks.ts';

type Unstamped<Row> = Omit<Row, 'stamp'>;
/** A row without the columns that every first revision gets. */
export type Created<Row> = Omit<Row, 'stamp' | 'created_at' | 'updated_at' | 'revision'>;

interface Stamped {
  readonly stamp: Stamp;
}

interface Revised extends Stamped {
  readonly revision: number;
  readonly updated_at: number;
}

/** The content of an event and its recipients, without its delivery state. */
export type EventFacts = Omit<EventRow, 'fanned' | 'stamp'>;

/** A kind of row that is stamped when it is written and checked when it is read. */
export interface Marker<Row> {
  stamp(row: Unstamped<Row>): Row;
  /** The row, if its stamp is valid. Throws otherwise. */
  vouched<R extends Row>(row: R): R;
}

/** A kind of row whose every change is also in the audit log. */
export interface Stamper<Row> extends Marker<Row> {
  /** The first revision of a row. */
  create(now: number, row: Created<Row>): Row;
  /** The next revision of a row. */
  revise<R extends Row>(before: R, changes: Partial<Row>, now: number): R;
  /** Like `believe`, without copying the row. */
  check<R extends Row & Audited>(row: R): R;
  /** The row without the columns used only for this check. Throws if it isn't trusted. */
  believe<R extends Row>(row: R & Audited): R;
}

export type Stamps = ReturnType<typeof stampsWith>;

export function stampsWith(keyring: Keyring) {
  function marker<Row extends Stamped>(kind: string, table: keyof typeof columns): Marker<Row> {
    const { written, read } = formsOf<Row>(table);
    const holds = ({ names }: Form<Row>, row: Row) =>
      keyring.stampHolds(kind, fieldsOf(names, row), row.stamp);
    return {
      stamp: row =>
        ({ ...row, stamp: keyring.stamp(kind, fieldsOf(written(row).names, row)) }) as unknown as Row,
      vouched: row => {
        const usual = written(row);
        if (holds(usual, row)) return row;
        const form = read.find(one => one !== usual && holds(one, row));
        if (form === undefined || !form.covers(row)) throw tampered(`${kind}: the stamp is not valid`);
        return { ...row, ...form.before(row) };
      },
    };
  }

  function stamper<Row extends Revised>(kind: string, table: keyof typeof columns): Stamper<Row> {
    const { stamp, vouched } = marker<Row>(kind, table);
    const check = <R extends Row & Audited>(row: R): R => {
      const sound = vouched(row);
      if ('value' in row && row.value === null) throw tampered(`${kind}: its version is missing`);
      if (row.audited_revision !== row.revision) throw tampered(`${kind}: not the newest revision`);
      return sound;
    };
    return {
      stamp,
      vouched,
      check,
      create: (now, row) =>
        stamp({ ...row, created_at: now, updated_at: now, revision: 1 } as unknown as Unstamped<Row>),
      revise: (before, changes, now) =>
        stamp({ ...before, ...changes, updated_at: now, revision: before.revision + 1 }) as typeof before,
      believe: row => {
        const { audited_revision, ...believed } = check(row);
        return believed as typeof row;
      },
    };
  }

  const event = marker<EventFacts & Stamped>('event', 'events');
  const version = marker<VersionRow>('version', 'versions');
  return {
    resource: stamper<ResourceRow>('resource', 'resources'),
    stage: stamper<StageRow>('stage', 'stages'),
    credential: stamper<CredentialRow>('credential', 'credentials'),
    identity: stamper<IdentityRow>('identity', 'identities'),
    organization: stamper<OrganizationRow>('organization', 'organizations'),
    member: stamper<MemberRow>('member', 'members'),
    memberGroup: stamper<MemberGroupRow>('member-group', 'member_groups'),
    account: stamper<AccountRow>('account', 'accounts'),
    passkey: stamper<PasskeyRow>('passkey', 'passkeys'),
    session: stamper<DashboardSessionRow>('session', 'sessions'),
    webhook: stamper<WebhookRow>('webhook', 'webhooks'),
    useRule: stamper<UseRuleRow>('use-rule', 'use_rules'),
    approval: stamper<ApprovalRow>('approval', 'approvals'),
    roleRequest: stamper<RoleRequestRow>('role-request', 'role_requests'),
    proposal: stamper<ProposalRow>('proposal', 'proposals'),
    issuer: stamper<IssuerRow>('issuer', 'issuers'),
    lease: stamper<LeaseRow>('lease', 'leases'),
    authority: stamper<AuthorityRow>('authority', 'authorities'),
    profile: stamper<ProfileRow>('profile', 'profiles'),
    issuedCertificate: stamper<IssuedCertificateRow>('issued-certificate', 'issued_certificates'),
    run: stamper<RunRow>('run', 'runs'),
    acmeAccount: stamper<AcmeAccountRow>('acme-account', 'acme_accounts'),
    acmeOrder: stamper<AcmeOrderRow>('acme-order', 'acme_orders'),
    rotation: stamper<RotationRow>('rotation', 'rotations'),
    oauthGrant: stamper<OAuthGrantRow>('oauth-grant', 'oauth_grants'),
    toolSession: marker<ToolSessionRow>('tool-session', 'mcp_sessions'),
    lockOut: marker<LockOutRow>('lock-out', 'lock_outs'),
    deviceLogin: marker<DeviceLoginRow>('device-login', 'device_logins'),
    stampEvent: (facts: EventFacts): EventRow => ({ ...event.stamp(facts), fanned: 0 }),
    believeEvent: event.vouched,
    stampVersion: version.stamp,
    believeVersion: version.vouched,
  };
}

/** The columns that the stamps of one schema version cover, and the values of later ones in such a row. */
interface Form<Row> {
  readonly names: readonly string[];
  /** Whether columns that it doesn't cover are empty, except those an older release beside this one leaves so. */
  covers(row: object): boolean;
  before(row: Row): Partial<Row>;
}

interface Forms<Row> {
  /** The form in which a row is stamped. */
  written(row: object): Form<Row>;
  /** The newest first. An older stamp doesn't cover later columns: a value there is either an edit or ignored. */
  readonly read: readonly Form<Row>[];
}

function formsOf<Row>(table: keyof typeof columns): Forms<Row> {
  const entries = Object.entries(columns[table]) as [string, Treatment<Row>][];
  const first = entries.flatMap(([name, how]) => (how === 'stamped' ? name : []));
  const later = entries.flatMap(([name, how]) => (isLater(how) ? { name, ...how } : []));
  const once = entries.flatMap(([name, how]) => (isOnce(how) ? { name, since: how.sealedStamped } : []));
  const formOf = (schema: number, more: readonly string[] = []): Form<Row> => {
    const beyond = later.filter(({ since }) => since > schema);
    const strict = beyond.filter(({ since }) => since > oldestBeside);
    return {
      names: [...first, ...later.flatMap(({ since, name }) => (since <= schema ? name : [])), ...more],
      covers: row => strict.every(({ name, before }) => row[name as keyof typeof row] === before(row as Row)),
      before: row =>
        Object.fromEntries(beyond.map(({ name, before }) => [name, before(row)])) as Partial<Row>,
    };
  };
  const schemas = [...new Set([...later.map(({ since }) => since), 0])].sort((a, b) => b - a);
  const forms = schemas.map(schema => formOf(schema));
  const oldest = schemas.findIndex(schema => schema <= oldestBeside);
  const candidates = forms.slice(0, oldest + 1).toReversed();
  return {
    written: row => candidates.find(form => form.covers(row))!,
    read: [...once.map(({ name, since }) => formOf(since, [name])), ...forms],
  };
}

function isOnce<Row>(how: Treatment<Row>): how is OnceStamped {
  return typeof how === 'object' && 'sealedStamped' in how;
}

function isLater<Row>(how: Treatment<Row>): how is Later<Row> {
  return typeof how === 'object' && 'since' in how;
}

function fieldsOf(names: readonly string[], row: object): StampField[] {
  const fields = new Array<StampField>(names.length);
  for (let at = 0; at < names.length; at++) fields[at] = (row as Record<string, StampField>)[names[at]!]!;
  return fields;
}

export function tampered(what: string): Failure {
  return new Failure('INTERNAL_ERROR', { cause: new Error(`stored data is not as it was written: ${what}`) });
}
