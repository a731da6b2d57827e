/** `strongroom leases …`: the short-lived credentials that were issued, and extending or ending them. */
import type { Lease } from '../../client/api.ts';
import { flag, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { type Admin, adminIn, foundIn, inTurn, listed } from '../connection/admin.ts';
import { isId } from '../connection/secret.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { done, printList } from '../terminal/terminal.ts';

const { vault: _, ...options } = serviceOptions;
const mostAtOnce = 100;

async function accessKeyNames(admin: Admin): Promise<ReadonlyMap<string, string>> {
  try {
    return new Map((await listed(admin.listAccessKeys)).map(({ id, name }) => [id, name]));
  } catch {
    // Without the permission to list them, their ids are shown.
    return new Map();
  }
}

export const listCommand = commandOf({
  usage: 'leases list [ISSUER] [flags]',
  summary: 'print the short-lived credentials that were issued',
  options: { ...options, all: flag('also those that are gone') },
  about:
    'Prints each lease: its id, state, issuer, user name, access key and end, and since when attempts to revoke it fail.',
  upTo: 1,
  run: async (values, issuer) => {
    const admin = adminIn(values);
    const at = issuer === '' ? null : await foundIn(admin.listIssuers, 'issuer', issuer);
    const query = {
      ...(values.all ? {} : { state: 'living' as const }),
      ...(at === null ? {} : { issuer_id: at.id }),
    };
    const all = await listed(admin.listLeases, query);
    const keys = values.json || all.length === 0 ? new Map<string, string>() : await accessKeyNames(admin);
    printList(values.json, all, one => [
      one.id,
      one.state,
      one.issuer,
      one.username,
      keys.get(one.access_key_id) ?? one.access_key_id,
      one.expires_at,
      one.failing_since === null ? '' : `failing since ${one.failing_since}`,
    ]);
  },
});

const renewOptions = {
  ...options,
  ttl: whole('SECONDS', 'how long from now (default: that of its issuer)', 0, 60, 86_400),
};

export const renewCommand = commandOf({
  usage: 'leases renew ID [flags]',
  summary: 'extend a short-lived credential',
  options: renewOptions,
  about: 'Extends a credential, at most to the longest life of its issuer. It never becomes shorter.',
  missing: 'the id of a lease is required',
  run: async (values, id) => {
    const body = values.ttl === 0 ? {} : { ttl: values.ttl };
    const renewed = await adminIn(values).renewLease({ id: idIn(id), body });
    done(values.json, renewed, `expires at ${renewed.expires_at}`);
  },
});

export const revokeCommand = commandOf({
  usage: 'leases revoke ID... [flags]',
  summary: 'end short-lived credentials',
  options,
  about: 'Ends credentials. Their users are removed soon after, however long that takes.',
  missing: 'the id of a lease is required',
  upTo: mostAtOnce,
  run: async (values, first, others) => {
    const ids = [first, ...others].map(idIn);
    const admin = adminIn(values);
    const revoked = await inTurn(ids, (id): Promise<Lease> => admin.revokeLease({ id }));
    const states = revoked.map(({ username, state }) => `${username} is ${state}`).join('\n');
    done(values.json, revoked, states);
  },
});

function idIn(given: string): string {
  if (isId(given)) return given;
  throw new UsageError('a lease is named by its id: strongroom leases list prints it');
}
