/** `strongroom ssh-certificate`: has a public key certified, and stores the certificate beside it. */
import { flag, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { serviceOptions } from '../connection/settings.ts';
import { sshCertificateFor, sshOptions } from '../connection/ssh.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf } from '../terminal/input.ts';
import { done } from '../terminal/terminal.ts';

export const command = commandOf({
  usage: 'ssh-certificate FILE.pub --key NAME --principal NAMES [flags]',
  summary: 'obtain an SSH certificate for a public key',
  options: {
    ...sshOptions,
    host: flag('for the key of a host, not of a user'),
    out: text('FILE', 'write the certificate to FILE (default: beside the key, as FILE-cert.pub)'),
    json: serviceOptions.json,
  },
  completes: 'files',
  about:
    'Has the public key in a file certified by a key of a vault, within the SSH profile of that key, and writes the\ncertificate beside it, where ssh and sshd find it.',
  more: 'Examples:\n  strongroom ssh-certificate ~/.ssh/id_ed25519.pub --key ssh-users --principal deploy\n  strongroom ssh-certificate /etc/ssh/ssh_host_ed25519_key.pub --key ssh-hosts --host --principal web-1.example.com --valid-for 30d\n',
  missing: 'the file of a public key is required',
  run: async (values, file) => {
    if (values.principal.length === 0)
      throw new UsageError('--principal is required: a certificate without one would be valid for everyone');
    const out = values.out ?? certificateBeside(file);
    const found = await sshCertificateFor(values, contentOf(file).trim(), values.host ? 'host' : 'user');
    const { writeDurably } = await import('../../base/durable-file.ts');
    await writeDurably(out, found.certificate, readable);
    done(values.json, { ...found, file: out }, `${out}: serial ${found.serial}, until ${found.valid_before}`);
  },
});

/** A certificate is public. */
const readable = 0o644;

function certificateBeside(file: string): string {
  if (!file.endsWith('.pub') || file.endsWith('-cert.pub'))
    throw new UsageError(
      '--out is required: the file is not named like a public key of SSH, such as id_ed25519.pub',
    );
  return file.replace(/\.pub$/, '-cert.pub');
}
