/** `strongroom issuers create`: sets up what creates short-lived credentials, and tries its connection. */
import type { IssuerCreate } from '../../client/api.ts';
import { providerNames } from '../../contract/names.ts';
import { choice, names, repeated, text, whole } from '../../service/settings/options.ts';
import { UsageError } from '../../service/settings/report.ts';
import { inVault } from '../connection/admin.ts';
import { serviceOptions } from '../connection/settings.ts';
import { commandOf } from '../terminal/command.ts';
import { contentOf, valueFrom } from '../terminal/input.ts';
import { note, printCreated } from '../terminal/terminal.ts';
import { linesOf } from './issuers.ts';

const options = {
  ...serviceOptions,
  provider: choice('the kind of service (default: postgresql)', providerNames),
  'member-of': { ...names('the roles of the database that each user is a member of'), value: 'ROLE[,ROLE]' },
  rule: repeated('RULE', 'for redis: what each user may do, such as ~app:* or +@read', rule => rule),
  'connection-limit': whole(
    'N',
    'how many connections a user may have open (default: unlimited)',
    0,
    1,
    10_000,
  ),
  ca: text('FILE', 'the certificates of the authority that signed the server’s, as PEM'),
  'default-ttl': whole(
    'SECONDS',
    'how long a credential lives if the request doesn’t say (default: 3600)',
    0,
    60,
    86_400,
  ),
  'max-ttl': whole('SECONDS', 'how long it lives at most, renewals included (default: 86400)', 0, 60, 86_400),
};

export const command = commandOf({
  usage: 'issuers create NAME [-|@FILE] [flags]',
  summary: 'set up what creates short-lived credentials',
  options,
  about:
    'Creates an issuer in the vault of --vault, and tries it. The URL of its connection, which contains a password, is read from\nstandard input, from a file, or at the terminal. The exit code is 1 if something is missing in the service.',
  missing: 'a name for the issuer is required',
  upTo: 2,
  run: async (values, name, [given]) => {
    const provider = values.provider ?? 'postgresql';
    const isRedis = provider === 'redis';
    const [required, rights] = isRedis ? ['rule', values.rule] : ['member-of', values['member-of']];
    if (rights.length === 0) throw new UsageError(`--${required} is required`);
    const { admin, vault } = await inVault(values);
    const url = (await valueFrom(given, 'URL of the connection: ')).trim();
    const limit = values['connection-limit'];
    const body: IssuerCreate = {
      vault_id: vault.id,
      name,
      provider,
      connection: { url, ...(values.ca === null ? {} : { ca: contentOf(values.ca) }) },
      template: {
        ...(isRedis ? { rules: values.rule } : { member_of: values['member-of'] }),
        ...(limit === 0 ? {} : { connection_limit: limit }),
      },
      ...(values['default-ttl'] === 0 ? {} : { default_ttl: values['default-ttl'] }),
      ...(values['max-ttl'] === 0 ? {} : { max_ttl: values['max-ttl'] }),
    };
    const created = await admin.createIssuer({ body });
    await printCreated({ ...values, out: null }, created, created.id, 'the issuer is created');
    const checked = await admin.checkIssuer({ id: created.id });
    for (const line of linesOf(checked)) note(line);
    if (!checked.ok) process.exitCode = 1;
  },
});
