/** `strongroom mcp config`: prints the configuration that a client needs to use the service. */
import { clientNames, configurationFor } from '../../mcp/client-configurations.ts';
import { mcpConfigOptions } from '../../service/settings/command-options.ts';
import { readConfig, UsageError } from '../../service/settings/config.ts';
import type { Command } from '../terminal/command.ts';

const defaultUrl = 'http://127.0.0.1:8420';

export const command: Command = {
  usage: 'mcp config CLIENT [flags]',
  summary: 'print the configuration for an MCP client',
  options: mcpConfigOptions,
  about: 'Prints the configuration to paste into a client.',
  run: async args => {
    const { client, url } = readConfig(mcpConfigOptions, withClientFlag(args), process.env);
    if (client === null) {
      throw new UsageError(`a client is required: ${clientNames.join(', ')}`);
    }
    const { where, text } = configurationFor(client, url ?? defaultUrl);
    process.stderr.write(`Paste into ${where}:\n`);
    process.stdout.write(`${text}\n`);
  },
};

/** `mcp config zed` is short for `mcp config --client zed`. */
function withClientFlag([first, ...rest]: readonly string[]): readonly string[] {
  if (first === undefined) return [];
  return first.startsWith('-') ? [first, ...rest] : ['--client', first, ...rest];
}
