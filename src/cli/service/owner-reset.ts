/**
 * `strongroom owner reset`: restores access for an owner who can no longer sign in, even the only one. It requires the
 * data and the root key, so the operator could read everything anyway; it is still recorded in the audit log.
 */

import { Failure } from '../../contract/errors.ts';
import { withStrongroom } from '../../service/opening/open.ts';
import { ownerResetOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import { Refusal } from '../../service/settings/report.ts';
import type { Command } from '../terminal/command.ts';
import { operatorOf } from './operator.ts';

const defaultUrl = 'http://localhost:8420';

export const command: Command = {
  usage: 'owner reset [flags]',
  summary: 'restore access for an owner who can no longer sign in',
  options: ownerResetOptions,
  about:
    'Removes an owner’s password, passkeys and one-time codes, ends their sessions, and prints a link with which they set up\ntheir sign-in again. The link works once, for seven days. Can run while the service runs.',
  run: async args => {
    const config = readConfig(ownerResetOptions, args, process.env);
    const { email } = config;
    if (email === null) throw new UsageError('--email is required');
    await withStrongroom(config, async ({ domain, newId }) => {
      const all = await domain.organizations.all();
      const named =
        config.organization === null ? all : all.filter(({ name }) => name === config.organization);
      if (named.length !== 1) throw new UsageError('--organization must name an existing organization');
      const operator = operatorOf(named[0]!.id, newId);
      const { token } = await domain.members.recover(operator, email).catch(refused);
      const link = `${(config.url ?? defaultUrl).replace(/\/$/, '')}/invite#${token}`;
      process.stdout.write(config.json ? `${JSON.stringify({ link, token })}\n` : `${link}\n`);
    });
  },
};

function refused(error: unknown): never {
  if (!(error instanceof Failure)) throw error;
  if (error.code === 'NOT_FOUND') throw new Refusal('no member of the organization has this email address');
  throw error.code === 'FORBIDDEN'
    ? new Refusal('the member is not an owner: an owner can invite them again')
    : error;
}
