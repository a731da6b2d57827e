/** `strongroom mcp`: the tools of a remote service, over stdio. */
import packageJson from '../../package.json' with { type: 'json' };
import { helpFor, mcpOptions, readConfig, UsageError } from '../config.ts';
import { serveOverStdio } from '../mcp/stdio.ts';
import type { Command } from './command.ts';

const usage = 'mcp [flags]';
const summary = 'serve the tools of a remote service over stdio';

export const command: Command = {
  usage,
  summary,
  help: () =>
    helpFor(
      usage,
      'Serves the tools over stdio, against the service at STRONGROOM_URL, with the vault access key in\nSTRONGROOM_ACCESS_KEY. The key has no flag: a command line is for everyone to see.',
      mcpOptions,
    ),
  run: async args => {
    const { url, names, accessKey } = readConfig(mcpOptions, args, process.env);
    if (url === null) throw new UsageError('STRONGROOM_URL is required: the address of the service');
    if (accessKey === null) throw new UsageError('STRONGROOM_ACCESS_KEY is required: a vault access key');
    await serveOverStdio({
      remote: { url: `${url}/mcp`, accessKey },
      naming: names ?? 'dotted',
      version: packageJson.version,
    });
  },
};
