/** `strongroom mcp config`: prints what a client needs to know of the service. */
import { helpFor, mcpConfigOptions, readConfig, UsageError } from '../config.ts';
import { configurationFor } from '../mcp/clients.ts';
import type { Command } from './command.ts';

const usage = 'mcp config --client NAME [flags]';
const summary = 'print a client’s configuration';
const defaultUrl = 'http://127.0.0.1:8420';

export const command: Command = {
  usage,
  summary,
  help: () => helpFor(usage, 'Prints the configuration of a client, to be pasted.', mcpConfigOptions),
  run: async args => {
    const { client, url } = readConfig(mcpConfigOptions, args, process.env);
    if (client === null) throw new UsageError('--client is required');
    const { where, text } = configurationFor(client, url ?? defaultUrl);
    process.stderr.write(`For ${where}:\n`);
    process.stdout.write(`${text}\n`);
  },
};
