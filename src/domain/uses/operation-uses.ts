/**
 * Operations with keys for services: an access key does what its restriction `operations` names, without use rules.
 * Without that restriction it only verifies and encrypts, as anyone with the public key can. Each request has one entry
 * in the log, with the key, the versions, the algorithms and the sizes, and never an input; it is durable before the
 * result is returned. SSH certificates are signed in the same way, for access keys whose restriction names them.
 */
import { type Reader, readerMayOperate } from '../../access/caller.ts';
import { Failure } from '../../contract/errors.ts';
import type { WorkCall } from '../../contract/key-operations.ts';
import type { SshCertificateCall } from '../../contract/ssh.ts';
import type { GrantedOperation, KeyOperation } from '../../contract/use-names.ts';
import type { RequestFacts } from '../reads/vault-request.ts';
import { keyOperationsWith, toldOf } from '../resources/key-operations.ts';
import { certificateTold, sshCertificatesWith } from '../resources/ssh-certificates.ts';
import type { Concurrency } from './concurrency.ts';
import type { Deed, Identified, recordedUsesWith, UseParts, UseResult } from './recorded-uses.ts';
import type { KeyRule } from './rule-records.ts';
import type { FindUseTarget } from './use-targets.ts';

/** What is asked of a key, by its name or its id. */
export interface AskedOperation {
  readonly key: string;
  readonly operation: KeyOperation;
  readonly call: WorkCall;
}

export interface AskedCertificate {
  readonly key: string;
  readonly operation: 'ssh-certificate';
  readonly call: SshCertificateCall;
}

export type AskedOfKey = AskedOperation | AskedCertificate;

export interface KeyOperationRequest extends RequestFacts {
  readonly asked: AskedOfKey | Failure;
}

interface OperationParts extends UseParts {
  readonly slots: Concurrency;
  readonly using: ReturnType<typeof recordedUsesWith>;
  readonly usable: FindUseTarget<KeyRule>;
}

export function operationUsesWith({ slots, using, usable, ...parts }: OperationParts) {
  const operations = keyOperationsWith(parts, parts.records);

  const certificates = sshCertificatesWith(parts, parts.records);

  async function certify(deed: Deed, { key, call }: AskedCertificate): Promise<object> {
    const { reader } = deed;
    deed.requested = 'key=ssh-certificate';
    const { vault, row } = await usable(reader, key);
    deed.requested = `key=ssh-certificate ${row.name}`;
    const asker = { name: `access-key ${reader.id}`, until: reader.expirationDate };
    const plan = certificates.plan(row, call, asker);
    deed.tellAll(`${certificateTold(plan)} ${row.name}`);
    const lane = { organization: reader.organizationId, key: reader.countedAs };
    return certificates.carryOut(plan, row, vault, lane);
  }

  async function perform(deed: Deed, { key, operation, call }: AskedOperation): Promise<object> {
    const { reader } = deed;
    deed.requested = `key=${operation}`;
    const { vault, row } = await usable(reader, key);
    deed.requested = `key=${operation} ${row.name}`;
    const plan = operations.plan(row, operation, call);
    deed.requested = `${toldOf(plan)} ${row.name}`;
    const lane = { organization: reader.organizationId, key: reader.countedAs };
    const { answer, told } = await operations.carryOut(plan, row, vault, lane);
    deed.requested = `${toldOf(plan)} ${told} ${row.name}`;
    return answer;
  }

  return ({ asked, ...request }: Identified<KeyOperationRequest>): Promise<UseResult<object>> => {
    const isUnread = asked instanceof Failure;
    const admission = {
      count: isUnread ? 1 : usesAskedIn(asked),
      may: (reader: Reader) => {
        if (!isUnread) refuseOther(reader, asked.operation);
      },
    };
    const begin = async (deed: Deed) => {
      if (isUnread) throw asked;
      return slots.within(deed.reader.countedAs, () =>
        asked.operation === 'ssh-certificate' ? certify(deed, asked) : perform(deed, asked),
      );
    };
    return using.run(request, begin, admission);
  };
}

function usesAskedIn(asked: AskedOfKey): number {
  return asked.operation === 'ssh-certificate' ? 1 : (asked.call.items?.length ?? 1);
}

function refuseOther(reader: Reader, operation: GrantedOperation): void {
  if (readerMayOperate(reader, operation)) return;
  throw new Failure('FORBIDDEN', {
    message:
      operation === 'ssh-certificate'
        ? 'Forbidden: the access key may not obtain SSH certificates'
        : `Forbidden: the access key may not ${operation} with keys`,
    because: 'may_not_use',
  });
}
