/** `strongroom mcp`: serves the tools of a remote service over stdio. */
import packageJson from '../../../package.json' with { type: 'json' };
import { problemWith } from '../../mcp/remote-check.ts';
import { mcpOptions } from '../../service/settings/command-options.ts';
import { readConfig, StartRefused, UsageError } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';

export const command: Command = {
  usage: 'mcp [flags]',
  summary: 'serve the tools of a remote service over stdio',
  options: mcpOptions,
  about:
    'Serves the tools of the service at STRONGROOM_URL over stdio, with the vault access key in\nSTRONGROOM_ACCESS_KEY. The access key has no flag, because other users can see command lines.\nBoth are checked first. When its input ends, it answers all earlier requests and exits.',
  run: async args => {
    const { url, names, accessKey } = readConfig(mcpOptions, args, process.env);
    if (url === null) throw new UsageError('STRONGROOM_URL is required: the address of the service');
    if (accessKey === null) throw new UsageError('STRONGROOM_ACCESS_KEY is required: a vault access key');
    const remote = { url: `${url}/mcp`, accessKey, version: packageJson.version };
    // The SDK loads during the check.
    const [problem, { serveOverStdio }] = await Promise.all([
      problemWith(remote),
      import('../../mcp/stdio.ts'),
    ]);
    if (problem !== null) throw new StartRefused(problem);
    await serveOverStdio(remote, names ?? 'dotted');
  },
};
