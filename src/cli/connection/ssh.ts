/** SSH certificates for commands: the flags that say what a certificate is for, and the request for one. */
import type { SshCertificate, SshCertificateCall } from '../../client/api.ts';
import { sshExtensions } from '../../contract/ssh.ts';
import { list, names, type Option, text } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { durationIn } from '../terminal/dates.ts';
import { adminFor, foundIn } from './admin.ts';
import { askJson } from './remote.ts';
import { isId } from './secret.ts';
import { serviceOptions, settingsFor } from './settings.ts';
import { logIn } from './workload.ts';

const validFor: Option<number | null> = {
  value: 'DURATION',
  help: 'how long the certificate is valid, such as 15m or 8h (default: an hour, or less if the profile says so)',
  fallback: null,
  parse: given => {
    const milliseconds = durationIn(given);
    if (milliseconds === null) throw new Error('must be a duration such as 90s, 15m, 8h or 30d');
    return milliseconds / 1_000;
  },
};

const { json: _, ...place } = serviceOptions;

export const sshOptions = {
  ...place,
  key: text('NAME', 'the key that signs, by name or id'),
  principal: names('the users, or with --host the hosts, that the certificate is for'),
  'valid-for': validFor,
  'key-id': text('TEXT', 'what servers log (default: the credential that asked)'),
  extension: list(
    'NAME',
    part => sshExtensions.some(one => one === part),
    `must be one or more of: ${sshExtensions.join(', ')}`,
    'permit only these (default: all that the profile allows)',
  ) as Option<readonly (typeof sshExtensions)[number][]>,
  'force-command': text('COMMAND', 'let the certificate run only this'),
  'source-address': names('accept the certificate only from these addresses and ranges'),
};

interface Values {
  readonly url: string | null;
  readonly vault: string | null;
  readonly profile: string | null;
  readonly key: string | null;
  readonly principal: readonly string[];
  readonly 'valid-for': number | null;
  readonly 'key-id': string | null;
  readonly extension: readonly (typeof sshExtensions)[number][];
  readonly 'force-command': string | null;
  readonly 'source-address': readonly string[];
}

/** As with secrets: an access key for its own vault, and an API key for a vault that is named. */
export async function sshCertificateFor(
  values: Values,
  public_key: string,
  type: 'user' | 'host',
): Promise<SshCertificate> {
  if (values.key === null) throw new UsageError('--key is required: the name of the key that signs');
  const settings = settingsFor(values, process.env);
  const { url, accessKey, apiKey, workload, vault } = settings;
  const body = callIn(values, public_key, type);
  if (apiKey !== null && (accessKey === null || vault !== null)) {
    const admin = adminFor(settings);
    const { id: vault_id } = await admin.vault(vault);
    const listKeys = ({ query = {} }: Parameters<typeof admin.listKeys>[0] & object) =>
      admin.listKeys({ query: { ...query, vault_id } });
    const { id } = await foundIn(listKeys, 'key', values.key);
    return admin.createSshCertificate({ id, body });
  }
  if (accessKey === null && workload === null)
    throw new UsageError(`there is no key for ${url}: set STRONGROOM_ACCESS_KEY or STRONGROOM_API_KEY`);
  const key = accessKey ?? (await logIn(url, workload!, vault));
  const own = vault !== null && isId(vault) ? vault : 'self';
  const path = `/api/v1/vaults/${own}/keys/${encodeURIComponent(values.key)}/ssh-certificate`;
  return askJson(url, { method: 'POST', path, key, body });
}

function callIn(values: Values, public_key: string, type: 'user' | 'host'): SshCertificateCall {
  const command = values['force-command'];
  const addresses = values['source-address'];
  const options = {
    ...(command === null ? {} : { force_command: command }),
    ...(addresses.length === 0 ? {} : { source_address: addresses }),
  };
  return {
    public_key,
    type,
    principals: values.principal,
    ...(values['valid-for'] === null ? {} : { valid_for: values['valid-for'] }),
    ...(values['key-id'] === null ? {} : { key_id: values['key-id'] }),
    ...(values.extension.length === 0 ? {} : { extensions: values.extension }),
    ...(Object.keys(options).length === 0 ? {} : { critical_options: options }),
  };
}
