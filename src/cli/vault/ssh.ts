/**
 * `strongroom ssh`: runs the system's ssh with a new key and a certificate for it. Both are in a private folder, in memory
 * if possible, only until ssh ends; neither is added to an agent. Strongroom's own credentials are not passed on.
 */
import { userInfo } from 'node:os';
import { newSshKey } from '../../material/ssh/private-key.ts';
import { sshLineOf } from '../../material/ssh/public-key.ts';
import { type Environment, readOptions } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { sshCertificateFor, sshOptions } from '../connection/ssh.ts';
import type { Command } from '../terminal/command.ts';
import { type Ended, endAs, forwardSignals, type Running, startProgram } from './child.ts';
import { secretFiles } from './secret-files.ts';

export const command: Command = {
  usage: 'ssh --key NAME [flags] [USER@]HOST [ARGUMENT...]',
  summary: 'run ssh with a key and a certificate that last only a short time',
  options: sshOptions,
  about:
    'Creates a key, has it certified by a key of a vault, and runs ssh with both. They are removed when ssh ends. Everything\nafter the host is passed to ssh. Without --principal, the certificate is for the user who signs in.',
  more: 'Examples:\n  strongroom ssh --key ssh-users deploy@web-1.example.com\n  strongroom ssh --key ssh-users --valid-for 5m deploy@web-1.example.com -p 2222 uptime\n',
  run: async args => {
    const [own, rest] = divided(args);
    const values = readOptions(sshOptions, own, process.env);
    const [host, ...others] = rest;
    if (host === undefined)
      throw new UsageError(
        'write the host after the flags, as in strongroom ssh --key ssh-users deploy@web-1',
      );
    if (host.startsWith('-')) throw new UsageError('the flags of ssh are written after the host');
    const principal = values.principal.length === 0 ? [userIn(host, others)] : values.principal;
    endAs(await connected({ ...values, principal }, rest, process.env));
  },
};

type Values = Parameters<typeof sshCertificateFor>[0];

async function connected(values: Values, args: readonly string[], inherited: Environment): Promise<Ended> {
  const { publicKey, privateKey } = newSshKey('strongroom');
  const { certificate } = await sshCertificateFor(values, sshLineOf(publicKey, 'strongroom').trim(), 'user');
  const files = secretFiles(inherited);
  let running: Running | null = null;
  // Nothing is awaited before ssh is started, so no signal arrives earlier.
  const stopForwarding = forwardSignals(
    () => running?.process,
    () => {},
  );
  try {
    const { key, signed } = files.put([
      { name: 'id', path: null, value: privateKey, variable: 'key' },
      { name: 'id-cert.pub', path: null, value: certificate, variable: 'signed' },
    ]);
    running = startProgram({
      command: ['ssh', '-i', key!, '-o', `CertificateFile=${signed!}`, '-o', 'IdentitiesOnly=yes', ...args],
      path: inherited.PATH,
      environment: withoutCredentials(inherited),
      masks: { stdout: null, stderr: null },
    });
    return await running.ended;
  } finally {
    files.remove();
    stopForwarding();
  }
}

/** Our own flags are those before the first argument that is none. */
function divided(args: readonly string[]): [own: readonly string[], rest: readonly string[]] {
  let at = 0;
  while (at < args.length && args[at]!.startsWith('--') && args[at] !== '--')
    at += args[at]!.includes('=') || args[at] === '--help' ? 1 : 2;
  const end = Math.min(at, args.length);
  return [args.slice(0, end), args.slice(args[end] === '--' ? end + 1 : end)];
}

/** As ssh determines the user to sign in as, apart from its configuration. */
function userIn(host: string, others: readonly string[]): string {
  const [, url] = /^ssh:\/\/([^@/]+)@/.exec(host) ?? [];
  if (url !== undefined) return decodeURIComponent(url);
  const at = host.lastIndexOf('@');
  if (at > 0) return host.slice(0, at);
  const flag = others.indexOf('-l');
  return (flag >= 0 ? others[flag + 1] : undefined) ?? userInfo().username;
}

/** A server could be configured to receive variables. */
function withoutCredentials(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('STRONGROOM_')));
}
